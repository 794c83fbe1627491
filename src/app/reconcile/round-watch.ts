import type { HealthState } from '../../admin/health-state';
import type { Alarms } from '../alarms/alarms';

export interface RoundWatchParts {
  /** The pause between two rounds. */
  readonly periodMs: number;
  /** The least time without an end of a round after which they count as stuck. */
  readonly leastMs?: number;
  readonly health: Pick<HealthState, 'set'>;
  readonly alarms: Alarms;
  readonly signal: AbortSignal;
}

const PERIODS = 3;
/** A round may wait for the runtime: its calls end after some seconds. */
const LEAST_MS = 30_000;
const CHECKS = 6;

/**
 * Notices from outside that rounds have stopped ending: then the health of the daemon as a whole is NOT_SERVING, with
 * an alarm, until one ends. Time in which this process did not run does not count, since no round had its turn in it.
 */
export class RoundWatch {
  private limitMs = 0;
  private timer: NodeJS.Timeout | undefined;
  private checks = 0;
  private isStuck = false;

  constructor(private readonly parts: RoundWatchParts) {
    const { periodMs, signal } = parts;
    this.follow(periodMs);
    signal.addEventListener('abort', () => clearInterval(this.timer), { once: true });
  }

  /** Rounds have this period from now on. */
  follow(periodMs: number): void {
    const { leastMs = LEAST_MS, signal } = this.parts;
    const limitMs = Math.max(PERIODS * periodMs, leastMs);
    if (limitMs === this.limitMs || signal.aborted) return;
    clearInterval(this.timer);
    this.limitMs = limitMs;
    this.checks = 0;
    this.timer = setInterval(() => this.check(), limitMs / CHECKS).unref();
  }

  noteEnd(): void {
    const { health, alarms, signal } = this.parts;
    this.checks = 0;
    if (!this.isStuck || signal.aborted) return;
    this.isStuck = false;
    health.set('', 'SERVING');
    alarms.clear('rounds-stuck', '');
  }

  private check(): void {
    const { health, alarms } = this.parts;
    if (this.isStuck || this.checks++ < CHECKS) return;
    this.isStuck = true;
    health.set('', 'NOT_SERVING');
    alarms.raise(
      'rounds-stuck',
      '',
      `no round has ended for ${this.limitMs / 1000} s: promises are not compared with the kernel and the runtime; restart cpusetd`,
    );
  }
}
