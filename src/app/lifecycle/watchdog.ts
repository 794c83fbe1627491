import type { Logger } from 'pino';
import type { OnSent } from './systemd';

export interface WatchdogParts {
  /** systemd ends and restarts us when no message came for this time: WatchdogSec= of the unit. */
  readonly limitMs: number;
  /** The pause between two rounds. */
  readonly periodMs: number;
  /** Sends fields of sd_notify(3). */
  readonly send: (fields: readonly string[], onSent: OnSent) => void;
  readonly log: Logger;
  /** The monotonic clock, in ms. */
  readonly steadyMs?: () => number;
}

/**
 * The limit is longer than that of `RoundWatch` in every period: health and log name the reason before systemd acts.
 */
const PERIODS = 4;
/** A message costs a process, so not every round sends one. */
const PER_LIMIT = 6;

/**
 * systemd's watchdog, fed by rounds that end and by nothing else: it restarts a cpusetd whose rounds hang, whatever
 * else of it still works. With a longer period than the unit allows for, the limit is made longer.
 */
export class Watchdog {
  private readonly steadyMs: () => number;
  private limitMs: number;
  private knownMs: number;
  private fedMs: number | undefined;
  private isSending = false;

  constructor(private readonly parts: WatchdogParts) {
    this.steadyMs = parts.steadyMs ?? (() => performance.now());
    this.knownMs = parts.limitMs;
    this.limitMs = parts.limitMs;
    this.follow(parts.periodMs);
  }

  /** Rounds have this period from now on. */
  follow(periodMs: number): void {
    this.limitMs = Math.max(this.parts.limitMs, PERIODS * periodMs);
  }

  /** A round has ended. */
  noteEnd(): void {
    const nowMs = this.steadyMs();
    const { limitMs, knownMs, fedMs } = this;
    const isDue = fedMs === undefined || nowMs - fedMs >= limitMs / PER_LIMIT || limitMs !== knownMs;
    if (!isDue || this.isSending) return;
    this.isSending = true;
    const fields = ['WATCHDOG=1', ...(limitMs === knownMs ? [] : [`WATCHDOG_USEC=${Math.round(limitMs * 1000)}`])];
    this.parts.send(fields, (because) => {
      this.isSending = false;
      if (because === undefined) [this.fedMs, this.knownMs] = [nowMs, limitMs];
      else this.parts.log.error({ because }, 'systemd could not be notified that a round has ended');
    });
  }
}
