import type { ApiObject } from './object-table';

export const podsPath = '/api/v1/namespaces/default/pods';
export const nodesPath = '/api/v1/nodes';
/** The collections of NodeResourceTopology, by their kind. */
export const topologyPaths = {
  community: '/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies',
  crane: '/apis/topology.crane.io/v1alpha1/noderesourcetopologies',
};

/** The scheduler's name in deploy/scheduler-plugins/scheduler.yaml. */
export const topologyScheduler = 'topo-aware-scheduler';

interface Amounts {
  readonly cpu: string;
  readonly memory: string;
}

export interface Pod extends ApiObject {
  readonly spec: {
    readonly nodeName?: string;
    readonly schedulerName: string;
    readonly containers: readonly {
      readonly name: string;
      readonly resources: { readonly requests?: Amounts; readonly limits?: Amounts };
    }[];
  };
  readonly status: {
    readonly phase: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[];
  };
}

/** NodeResourceTopology of topology.node.k8s.io. */
export interface Topology extends ApiObject {
  readonly attributes: readonly { readonly name: string; readonly value: string }[];
  readonly zones: readonly {
    readonly name: string;
    readonly resources: readonly { readonly name: string; readonly available: string }[];
  }[];
}

export interface PodRequest {
  readonly name: string;
  /** 0: a BestEffort pod. */
  readonly cpus: number;
  /** Default: that of scheduler-plugins. */
  readonly scheduler?: string;
  /** The only node that a scheduler may choose. */
  readonly onNode?: string;
  /** The node that it is bound to without a scheduler. */
  readonly boundTo?: string;
}

/** A pod of one container: Guaranteed, with whole CPUs and a request for memory, or BestEffort. */
export function podOf({ name, cpus, scheduler = topologyScheduler, onNode, boundTo }: PodRequest): object {
  const amounts: Amounts = { cpu: String(cpus), memory: '16Mi' };
  const resources = cpus === 0 ? {} : { requests: amounts, limits: amounts };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: {
      schedulerName: scheduler,
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      ...(onNode !== undefined && { nodeSelector: { 'kubernetes.io/hostname': onNode } }),
      ...(boundTo !== undefined && { nodeName: boundTo }),
      containers: [{ name: 'main', image: 'none', resources }],
    },
  };
}

export function cpusOfPod({ spec }: Pod): number {
  return spec.containers.reduce((sum, { resources }) => sum + Number(resources.requests?.cpu ?? 0), 0);
}

/** The CPUs that the zones offer together. */
export function totalAvailable({ zones }: Topology): number {
  return zones
    .flatMap(({ resources }) => resources)
    .filter(({ name }) => name === 'cpu')
    .reduce((sum, { available }) => sum + Number(available), 0);
}

export function fingerprintOf({ attributes }: Topology): string | undefined {
  return attributes.find(({ name }) => name === 'nodeTopologyPodsFingerprint')?.value;
}
