import type { NodeEvent, PodInfo } from '../../../src/core/model/events';
import type { PodSpec } from '../../../src/core/model/pod-spec';
import { readPodToPlace } from '../../../src/kube';
import type { Random } from '../../support/random';
import type { Amounts, ContainerQuestion, PodQuestion } from './questions';

const MIB = 2 ** 20;

/** Pods of up to 2 init containers or sidecars and 3 app containers; most are Guaranteed and ask for whole CPUs. */
export function makePod(
  random: Random,
  uid: string,
  { largest, podLevel }: { readonly largest: number; readonly podLevel: boolean },
): PodQuestion {
  const isWhole = podLevel && random.chance(0.12);
  const isGuaranteed = random.chance(0.85);
  const makeContainer = (name: string): ContainerQuestion => {
    const whole = random.chance(0.6) ? random.int(1, 4) : random.int(1, largest);
    const cpu = random.chance(0.15) ? whole * 1000 + 500 : whole * 1000;
    // Never just what some nodes have together: the kubelet reserves some memory, and cpusetd none.
    const memory = random.int(1, 12) * 100 * MIB;
    if (isWhole && random.chance(0.3)) return { name, requests: {}, limits: {} };
    return { name, requests: { cpu, memory }, limits: isGuaranteed || isWhole ? { cpu, memory } : { memory } };
  };
  const early = random.chance(0.35) ? random.int(1, 2) : 0;
  const init = Array.from({ length: early }, (_, i) => ({
    ...makeContainer(`init-${i}`),
    sidecar: random.chance(0.4),
  }));
  const containers = Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, (_, i) => makeContainer(`app-${i}`));
  if (!isWhole) return { uid, init, containers };
  const total = (resource: keyof Amounts): number => {
    const running = [...init.filter(({ sidecar }) => sidecar), ...containers];
    const all = running.reduce((sum, { requests }) => sum + (requests[resource] ?? 0), 0);
    return Math.max(all, ...init.map(({ requests }) => requests[resource] ?? 0));
  };
  const room = random.pick([0, 1, 2]);
  const amounts = {
    cpu: Math.ceil((total('cpu') + room * 1000) / 1000) * 1000 || 1000,
    memory: total('memory') + 100 * MIB,
  };
  return { uid, init, containers, requests: amounts, limits: amounts };
}

/** The spec as cpusetd reads it from the API server's object. */
export function specOf({ uid, init, containers, requests, limits }: PodQuestion): PodSpec {
  const listContainers = (list: readonly ContainerQuestion[]): object[] =>
    list.map((container) => ({
      name: container.name,
      ...(container.sidecar && { restartPolicy: 'Always' }),
      resources: { requests: quantitiesOf(container.requests), limits: quantitiesOf(container.limits) },
    }));
  const pod = readPodToPlace({
    metadata: { uid, name: uid, namespace: 'ns' },
    spec: {
      initContainers: listContainers(init),
      containers: listContainers(containers),
      ...(requests && limits && { resources: { requests: quantitiesOf(requests), limits: quantitiesOf(limits) } }),
    },
  });
  if (!pod) throw new Error(`not a pod: ${uid}`);
  return pod.spec;
}

const quantitiesOf = ({ cpu, memory }: Amounts): object => ({
  ...(cpu !== undefined && { cpu: `${cpu}m` }),
  ...(memory !== undefined && { memory: `${memory}` }),
});

/** All containers in the order in which the kubelet creates them. */
export const containersOf = ({ init, containers }: PodQuestion): readonly ContainerQuestion[] => [
  ...init,
  ...containers,
];

/** An init container ends before the next container is created; a sidecar does not. */
export const isInit = (pod: PodQuestion, name: string): boolean =>
  pod.init.some((container) => container.name === name && container.sidecar !== true);

export function infoOf({ uid }: PodQuestion, spec: PodSpec): PodInfo {
  const parent = spec.qos === 'Guaranteed' ? '/kubepods' : `/kubepods/${spec.qos.toLowerCase()}`;
  return {
    sandboxId: `sandbox-${uid}`,
    uid,
    namespace: 'ns',
    name: uid,
    annotations: {},
    cgroupParent: `${parent}/pod${uid}`,
  };
}

/** The runtime's message by which the container is created, with the numbers that the kubelet sends. */
export function creationOf(
  pod: PodQuestion,
  spec: PodSpec,
  { name, requests, limits }: ContainerQuestion,
): Extract<NodeEvent, { kind: 'create-container' }> {
  const info = infoOf(pod, spec);
  const cpu = requests.cpu ?? pod.requests?.cpu ?? 0;
  const limit = limits.cpu ?? pod.limits?.cpu;
  return {
    kind: 'create-container',
    pod: info,
    container: {
      id: `${pod.uid}/${name}`,
      sandboxId: info.sandboxId,
      name,
      phase: 'creating',
      cgroupsPath: `${info.cgroupParent}/${name}`,
      resources: {
        shares: Math.max(2, Math.floor((cpu * 1024) / 1000)),
        periodUs: 100_000,
        ...(limit !== undefined && { quotaUs: limit * 100 }),
        ...(limits.memory !== undefined && { memoryLimitBytes: limits.memory }),
      },
    },
  };
}
