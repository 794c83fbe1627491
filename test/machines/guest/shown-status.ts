/** What `cpusetd status -o json` prints, as far as claims look at it. */
export interface ShownStatus {
  readonly node: {
    readonly online: string;
    readonly reserved: string;
    readonly allocatable: string;
    readonly sharedPool: string;
    readonly free: string;
    readonly isolated: string;
  };
  readonly containers: readonly ShownContainer[];
}

export interface ShownContainer {
  readonly id: string;
  readonly container: string;
  readonly placement: string;
  readonly promise?: { readonly cpus: string; readonly mems: string };
  readonly observation?: { readonly cpus: string; readonly effectiveCpus: string; readonly mems: string };
  readonly verdict: { readonly kind: string; readonly reason: string };
  readonly because: string;
}
