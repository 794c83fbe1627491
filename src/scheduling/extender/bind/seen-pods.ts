import type { PodRequest } from '../../topology/pod-request';

const MAX_PODS = 10_000;

/** The requests of pods that filter has seen lately, for bind, which gets only their names. The oldest makes room. */
export class SeenPods {
  private readonly byUid = new Map<string, PodRequest>();

  add(pod: PodRequest): void {
    this.byUid.delete(pod.uid);
    this.byUid.set(pod.uid, pod);
    if (this.byUid.size > MAX_PODS) this.byUid.delete(this.byUid.keys().next().value!);
  }

  get(uid: string): PodRequest | undefined {
    return this.byUid.get(uid);
  }
}
