import { parse } from 'yaml';
import type { ContainerInfo, CpuResources, PodInfo, RuntimeAnswer } from '../../src/core/model/events';
import type { PodSpec } from '../../src/core/model/pod-spec';
import { asArray, asObject, asTexts, type JsonObject } from '../../src/kube/json';
import { toWatchedPod } from '../../src/kube/pods/to-pod-spec';
import type { NodeDriver } from '../core/transition/node-driver';
import {
  nameCgroupParent,
  toContainerResources,
  toPodResources,
  type Qos,
  type ResourceSpec,
} from '../e2e/rig/kubelet-numbers';

/** A pod of a page, as the API server has it and as the runtime reports it. */
export interface PagePod {
  readonly document: JsonObject;
  readonly spec: PodSpec;
  readonly info: PodInfo;
  /** In the order in which the kubelet creates them. */
  readonly containers: readonly ContainerInfo[];
}

/**
 * Reads the YAML of a pod: what the API server fills in, and what the kubelet and the runtime make of it. Without a UID
 * its name is that too.
 */
export function readPod(yaml: string, givenUid?: string): PagePod {
  const document = fillIn(asObject(parse(yaml)), givenUid);
  const spec = toWatchedPod(document)?.spec;
  if (!spec) throw new Error('a pod without a name');
  const { uid, name, namespace, containers } = spec;
  const qos = spec.qos.toLowerCase() as Qos;
  const resources = containers.map((container): ResourceSpec => ({
    ...(container.requestMilliCpu !== undefined && { cpuRequestMilli: container.requestMilliCpu }),
    ...(container.limitMilliCpu !== undefined && { cpuLimitMilli: container.limitMilliCpu }),
    ...(container.requestMemoryBytes !== undefined && { memoryRequestBytes: container.requestMemoryBytes }),
    ...(container.limitMemoryBytes !== undefined && { memoryLimitBytes: container.limitMemoryBytes }),
  }));
  const info: PodInfo = {
    sandboxId: `sandbox-${uid}`,
    uid,
    namespace,
    name,
    annotations: asTexts(asObject(document['metadata'])['annotations']),
    cgroupParent: nameCgroupParent('', qos, uid),
    podResources: toCore(toPodResources(resources)),
  };
  return {
    document,
    spec,
    info,
    containers: containers.map(({ name: container }, i) => ({
      id: `${uid}/${container}`,
      sandboxId: info.sandboxId,
      name: container,
      phase: 'creating',
      cgroupsPath: `${info.cgroupParent}/${container}`,
      resources: toCore(toContainerResources(resources[i]!, qos)),
    })),
  };
}

/** The fields that the API server sets in a new pod: its UID, its namespace, and requests that equal the limits. */
function fillIn(pod: JsonObject, uid: unknown): JsonObject {
  const metadata = asObject(pod['metadata']);
  const spec = asObject(pod['spec']);
  const withRequests = (containers: unknown): JsonObject[] =>
    asArray(containers)
      .map(asObject)
      .map((container) => {
        const { limits, requests } = asObject(container['resources']);
        return { ...container, resources: { limits, requests: { ...asObject(limits), ...asObject(requests) } } };
      });
  return {
    ...pod,
    metadata: { namespace: 'default', uid: uid ?? metadata['name'], ...metadata },
    spec: {
      ...spec,
      initContainers: withRequests(spec['initContainers']),
      containers: withRequests(spec['containers']),
    },
  };
}

/** A number that is 0 in a message is absent. */
function toCore(message: ReturnType<typeof toContainerResources>): CpuResources {
  const { cpuShares, cpuQuota, cpuPeriod, memoryLimitInBytes } = message;
  return {
    shares: Number(cpuShares),
    periodUs: Number(cpuPeriod),
    ...(cpuQuota !== 0n && { quotaUs: Number(cpuQuota) }),
    ...(memoryLimitInBytes !== 0n && { memoryLimitBytes: Number(memoryLimitInBytes) }),
  };
}

/**
 * Creates and starts the containers of a pod, one after another. `spec`: the API server has reported the pod before.
 */
export function runPod(node: NodeDriver, { info: pod, containers, spec }: PagePod, knows?: 'spec'): RuntimeAnswer[] {
  if (knows) node.send({ kind: 'pod-spec', spec });
  node.send({ kind: 'pod-started', pod });
  return containers.map((container) => {
    const answer = node.send({ kind: 'create-container', pod, container });
    if (answer.kind === 'refuse') return answer;
    node.send({ kind: 'container-created', pod, container: { ...container, phase: 'created' } });
    node.send({ kind: 'container-starting', pod, container: { ...container, phase: 'starting' } });
    node.send({ kind: 'container-started', pod, container: { ...container, phase: 'running' } });
    return answer;
  });
}
