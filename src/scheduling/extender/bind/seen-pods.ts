import type { PodToPlace } from '../../../core/fit';

const MAX_PODS = 10_000;

/** Pods that filter has seen lately, for bind, which gets only their names. The oldest makes room. */
export class SeenPods {
  private readonly byUid = new Map<string, PodToPlace>();

  add(pod: PodToPlace): void {
    this.byUid.delete(pod.spec.uid);
    this.byUid.set(pod.spec.uid, pod);
    if (this.byUid.size > MAX_PODS) this.byUid.delete(this.byUid.keys().next().value!);
  }

  get(uid: string): PodToPlace | undefined {
    return this.byUid.get(uid);
  }
}
