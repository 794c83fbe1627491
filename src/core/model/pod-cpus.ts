import type { ContainerKind, QosClass } from './pod-kinds';

/** Exclusive CPUs that a container of a pod spec is entitled to: all of its CPU request if that is whole, else none. */
export function exclusiveCpusOf(container: { readonly qos: QosClass; readonly requestMilliCpu: number }): number {
  const cpus = container.requestMilliCpu / 1000;
  return container.qos === 'Guaranteed' && Number.isSafeInteger(cpus) && cpus > 0 ? cpus : 0;
}

/** The most exclusive CPUs that a pod ever needs at one time. Containers in the order of the pod spec, init first. */
export function sumPodCpus(containers: readonly { readonly kind: ContainerKind; readonly cpus: number }[]): number {
  return peakOfPod(containers, ({ cpus }) => cpus);
}

/**
 * The most of anything that a pod ever needs at one time: init containers run one after the other, before the app
 * containers and beside the sidecars that were started before them. Containers in the order of the pod spec, init
 * first.
 */
export function peakOfPod<C extends { readonly kind: ContainerKind }>(
  containers: readonly C[],
  amountOf: (container: C) => number,
): number {
  let sidecars = 0;
  let apps = 0;
  let initPeak = 0;
  for (const container of containers) {
    const amount = amountOf(container);
    if (container.kind === 'sidecar') sidecars += amount;
    else if (container.kind === 'app') apps += amount;
    else initPeak = Math.max(initPeak, sidecars + amount);
  }
  return Math.max(initPeak, apps + sidecars);
}

/** CPU requests of a pod, in thousandths; absent = not set. Containers in the order of the pod spec, init first. */
export interface PodRequests {
  readonly containers: readonly { readonly kind: ContainerKind; readonly requestMilliCpu?: number }[];
  /** Pod-level resources. */
  readonly podResources?: { readonly requestMilliCpu?: number };
}

/** The CPU request of the whole pod, as schedulers count it; in thousandths. */
export function sumPodRequest({ containers, podResources }: PodRequests): number {
  const ofContainers = sumPodCpus(containers.map(({ kind, requestMilliCpu = 0 }) => ({ kind, cpus: requestMilliCpu })));
  return Math.max(ofContainers, podResources?.requestMilliCpu ?? 0);
}
