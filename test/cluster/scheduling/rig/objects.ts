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

export interface PodContainer {
  readonly name: string;
  readonly restartPolicy?: string;
  readonly resources: { readonly requests?: Partial<Amounts>; readonly limits?: Partial<Amounts> };
}

export interface Pod extends ApiObject {
  readonly spec: {
    readonly nodeName?: string;
    readonly schedulerName: string;
    readonly initContainers?: readonly PodContainer[];
    readonly containers: readonly PodContainer[];
  };
  readonly status: {
    readonly phase: string;
    readonly qosClass?: 'Guaranteed' | 'Burstable' | 'BestEffort';
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
  /** CPUs of containers beside the one of `cpus`, and of those that start before it. */
  readonly apps?: readonly number[];
  readonly inits?: readonly number[];
  readonly sidecars?: readonly number[];
  /** Its memory has no limit, so it is Burstable. */
  readonly isBurstable?: boolean;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Default: that of scheduler-plugins. */
  readonly scheduler?: string;
  /** The only node that a scheduler may choose. */
  readonly onNode?: string;
  /** The node that it is bound to without a scheduler. */
  readonly boundTo?: string;
}

/**
 * A pod of one container, unless it says otherwise: Guaranteed, with whole CPUs and a request for memory, or
 * BestEffort.
 */
export function podOf({
  name,
  cpus,
  apps = [],
  inits = [],
  sidecars = [],
  isBurstable = false,
  scheduler = topologyScheduler,
  onNode,
  boundTo,
  annotations,
}: PodRequest): object {
  const container = (name: string, count: number) => {
    const amounts: Amounts = { cpu: String(count), memory: '16Mi' };
    const resources = { requests: amounts, limits: isBurstable ? { cpu: amounts.cpu } : amounts };
    return { name: name, image: 'none', resources: count === 0 ? {} : resources };
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', ...(annotations && { annotations }) },
    spec: {
      schedulerName: scheduler,
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      ...(onNode !== undefined && { nodeSelector: { 'kubernetes.io/hostname': onNode } }),
      ...(boundTo !== undefined && { nodeName: boundTo }),
      initContainers: [
        ...sidecars.map((count, i) => ({ ...container(`sidecar-${i}`, count), restartPolicy: 'Always' })),
        ...inits.map((count, i) => container(`init-${i}`, count)),
      ],
      containers: [container('main', cpus), ...apps.map((count, i) => container(`app-${i}`, count))],
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
