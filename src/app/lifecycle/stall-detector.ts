export interface StallDetectorParts {
  readonly signal: AbortSignal;
  /** The monotonic clock, in ms. It goes on while the process is stopped, and not while the machine is suspended. */
  readonly steadyMs?: () => number;
}

const PERIOD_MS = 250;
/** Minimum time between two beats that is a stall: the process was stopped, or one turn took all that time. */
const STALLED_FROM_MS = 2 * PERIOD_MS;
/** Messages that came during a stall are handled within this time of its end. */
const CATCH_UP_MS = 1_000;

/**
 * Notices when the process did not run for a while: stopped by a signal or a frozen cgroup, or held up in one turn of
 * the event loop. An event that is handled after a stall may have happened at the beginning of the stall.
 */
export class StallDetector {
  private readonly steadyMs: () => number;
  private lastMs: number;
  private stall: { readonly beganMs: number; readonly endedMs: number } | undefined;

  constructor({ signal, steadyMs = () => performance.now() }: StallDetectorParts) {
    this.steadyMs = steadyMs;
    this.lastMs = steadyMs();
    const timer = setInterval(() => this.beat(), PERIOD_MS).unref();
    signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  }

  /** Age of the stall whose messages are being handled now, in ms since its beginning; 0 when there was none. */
  stalledForMs(): number {
    this.beat(); // sockets may be read before timers
    const { stall, lastMs } = this;
    return stall && lastMs - stall.endedMs <= CATCH_UP_MS ? lastMs - stall.beganMs : 0;
  }

  private beat(): void {
    const nowMs = this.steadyMs();
    if (nowMs - this.lastMs >= STALLED_FROM_MS) this.stall = { beganMs: this.lastMs, endedMs: nowMs };
    this.lastMs = nowMs;
  }
}
