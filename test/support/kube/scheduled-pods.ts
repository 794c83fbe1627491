import type { ContainerInfo, NodeEvent, PodInfo } from '../../../src/core/model/events';
import type { NodeModel } from '../../../src/core/model/node-model';
import type { PodSpec } from '../../../src/core/model/pod-spec';
import { handle, Draft } from '../../../src/core/transition';
import { qosOf, type ContainerModel, type PodModel } from './scheduler-model';

const MIB = 2 ** 20;

/** A container whose requests for CPU and memory equal its limits; `cpu` may be a fraction. */
export function guaranteed(name: string, cpu: number, mebibytes = 16): ContainerModel {
  const amounts = { cpu: cpu * 1000, memory: mebibytes * MIB };
  return { name, requests: amounts, limits: amounts };
}

/** The pod's spec as the API server sends it to the node. */
export function specOfPod(pod: PodModel): PodSpec {
  return {
    uid: pod.name,
    namespace: 'ns',
    name: pod.name,
    annotations: pod.annotations ?? {},
    qos: qosOf(pod),
    finished: false,
    containers: pod.containers.map(({ name, requests, limits }) => ({
      name,
      kind: 'app',
      ended: false,
      ...(requests['cpu'] && { requestMilliCpu: requests['cpu'] }),
      ...(limits['cpu'] && { limitMilliCpu: limits['cpu'] }),
      ...(requests['memory'] && { requestMemoryBytes: requests['memory'] }),
      ...(limits['memory'] && { limitMemoryBytes: limits['memory'] }),
    })),
  };
}

/** The messages by which the runtime makes the pod's containers, one after the other. */
export function creationsOf(pod: PodModel): NodeEvent[] {
  const qos = qosOf(pod);
  const parent = qos === 'Guaranteed' ? '/kubepods' : `/kubepods/${qos.toLowerCase()}`;
  const info: PodInfo = {
    sandboxId: `sandbox-${pod.name}`,
    uid: pod.name,
    namespace: 'ns',
    name: pod.name,
    annotations: pod.annotations ?? {},
    cgroupParent: `${parent}/pod${pod.name}`,
  };
  return pod.containers.map(({ name, requests, limits }): NodeEvent => {
    const [asked = 0, most = 0] = [requests['cpu'], limits['cpu']];
    const container: ContainerInfo = {
      id: `${pod.name}/${name}`,
      sandboxId: info.sandboxId,
      name,
      phase: 'creating',
      cgroupsPath: `${info.cgroupParent}/${name}`,
      resources: {
        shares: Math.max(2, Math.floor((asked * 1024) / 1000)),
        periodUs: 100_000,
        ...(most > 0 && { quotaUs: most * 100 }),
        ...(limits['memory'] && { memoryLimitBytes: limits['memory'] }),
      },
    };
    return { kind: 'create-container', pod: info, container };
  });
}

/** Sends the events as one. Undefined when all succeed, else the first refusal; then nothing has changed. */
export function sendAll(model: NodeModel, events: readonly NodeEvent[]): string | undefined {
  const draft = new Draft(model, '2026-01-01T00:00:00Z');
  for (const event of events) {
    const { answer } = handle(draft, event);
    if (answer.kind !== 'refuse') continue;
    draft.rollback();
    return answer.message;
  }
  return undefined;
}

/** As `sendAll`, but nothing has changed afterwards. */
export function tryAll(model: NodeModel, events: readonly NodeEvent[]): string | undefined {
  const draft = new Draft(model, '2026-01-01T00:00:00Z');
  try {
    for (const event of events) {
      const { answer } = handle(draft, event);
      if (answer.kind === 'refuse') return answer.message;
    }
    return undefined;
  } finally {
    draft.rollback();
  }
}
