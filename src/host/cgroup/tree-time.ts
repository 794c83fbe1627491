/** Time for all trees together in each second: a runtime gives up a plugin that does not answer within two seconds. */
export const TREE_MS = 300;
const WINDOW_MS = 1_000;

/**
 * Limits the time for moving cgroups that have children. Each child costs up to a millisecond in the kernel, and a
 * container may make thousands of them: without a limit they would delay the creation of all containers. One tree gets
 * half of the time that is left, so that no tree uses up what others need.
 */
export class TreeTime {
  private sinceMs = -Infinity;
  private leftMs = 0;

  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  /** Runs the work; `isOver` returns true when the time for it is used up. */
  spend<T>(work: (isOver: () => boolean) => T): T {
    const begunMs = this.nowMs();
    if (begunMs - this.sinceMs >= WINDOW_MS) {
      this.sinceMs = begunMs;
      this.leftMs = TREE_MS;
    }
    const untilMs = begunMs + this.leftMs / 2;
    try {
      return work(() => this.nowMs() >= untilMs);
    } finally {
      this.leftMs = Math.max(0, this.leftMs - (this.nowMs() - begunMs));
    }
  }
}
