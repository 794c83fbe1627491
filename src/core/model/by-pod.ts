/** Things of the node, found by the uid of their pod. */
export class ByPod<T> {
  private readonly byUid = new Map<string, Map<string, T>>();

  put(podUid: string, id: string, one: T): void {
    const ofPod = this.byUid.get(podUid);
    if (ofPod) ofPod.set(id, one);
    else this.byUid.set(podUid, new Map([[id, one]]));
  }

  drop(podUid: string, id: string): void {
    const ofPod = this.byUid.get(podUid);
    ofPod?.delete(id);
    if (ofPod?.size === 0) this.byUid.delete(podUid);
  }

  of(podUid: string): T[] {
    return [...(this.byUid.get(podUid)?.values() ?? [])];
  }
}
