/** All trees together may take so much of a second: a runtime gives up a plugin that does not answer within two. */
export const TREE_MS = 300;
const WINDOW_MS = 1_000;

/**
 * The time for moving cgroups that have children of their own. Each child costs up to a millisecond in the kernel, and whoever may make
 * some may make thousands: without a limit they would hold up everybody's creations.
 */
export class TreeTime {
  private sinceMs = -Infinity;
  private leftMs = 0;

  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  /** Does the work; `isOver` tells it that the time for all such work is used up. */
  spend<T>(work: (isOver: () => boolean) => T): T {
    const begunMs = this.nowMs();
    if (begunMs - this.sinceMs >= WINDOW_MS) {
      this.sinceMs = begunMs;
      this.leftMs = TREE_MS;
    }
    const untilMs = begunMs + this.leftMs;
    try {
      return work(() => this.nowMs() >= untilMs);
    } finally {
      this.leftMs = Math.max(0, untilMs - this.nowMs());
    }
  }
}
