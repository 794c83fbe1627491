import type { Logger } from 'pino';
import type { Alarms } from './alarms';

export interface FaultsParts {
  readonly log: Logger;
  readonly alarms: Alarms;
}

interface Noted {
  readonly message: string;
  /** In a row; 0 when the part has succeeded since. */
  readonly count: number;
  readonly loggedAtMs: number;
  readonly containerId: string | undefined;
}

/** Number of failures of a part in a row that is an alarm. */
const LASTS_FROM = 3;
/** Minimum time between two log lines of a part that fails and succeeds by turns with the same message. */
const SAY_AGAIN_MS = 60_000;

/**
 * Keeps a fault of one part from ending anything else. It is logged when it is new or another than before, and the same
 * at most once a minute. When the same part fails again and again it is an alarm, until that part succeeds. A part is
 * named for the operator, such as `looking at`, and may be about one container.
 */
export class Faults {
  private readonly records = new Map<string, Noted>();

  constructor(private readonly parts: FaultsParts) {}

  /** Does the work of a part. Returns undefined when it throws. */
  contain<T>(part: string, work: () => T, containerId?: string): T | undefined {
    try {
      const result = work();
      this.over(part, containerId);
      return result;
    } catch (error) {
      this.note(part, error, containerId);
      return undefined;
    }
  }

  /** The same for asynchronous work; never rejects. */
  async containAsync(part: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.over(part);
    } catch (error) {
      this.note(part, error);
    }
  }

  /** Counts a fault that was caught elsewhere. */
  note(part: string, error: unknown, containerId?: string): void {
    const subject = subjectOf(part, containerId);
    const message = messageOf(error);
    const nowMs = performance.now();
    const before = this.records.get(subject);
    const count = (before?.count ?? 0) + 1;
    const isNews = before?.message !== message || (before.count === 0 && nowMs - before.loggedAtMs >= SAY_AGAIN_MS);
    const loggedAtMs = isNews ? nowMs : before.loggedAtMs;
    this.records.set(subject, { message, count, loggedAtMs, containerId });
    if (isNews) logFault(this.parts.log, 'a fault of cpusetd; everything else goes on', error, { part: subject });
    quietly(() => {
      if (count >= LASTS_FROM) this.parts.alarms.update('internal-fault', subject, `${subject}: ${message}`);
    });
  }

  /** The part has succeeded. */
  over(part: string, containerId?: string): void {
    if (this.records.size === 0) return;
    const subject = subjectOf(part, containerId);
    const before = this.records.get(subject);
    if (!before || before.count === 0) return;
    this.records.set(subject, { ...before, count: 0 });
    this.clear(subject);
  }

  /** Forgets containers that are gone. */
  keepOnly(containers: ReadonlyMap<string, unknown>): void {
    for (const [subject, { containerId }] of this.records)
      if (containerId !== undefined && !containers.has(containerId)) {
        this.records.delete(subject);
        this.clear(subject);
      }
  }

  private clear(subject: string): void {
    quietly(() => this.parts.alarms.clear('internal-fault', subject));
  }
}

function subjectOf(part: string, containerId: string | undefined): string {
  return containerId === undefined ? part : `${part} ${containerId}`;
}

/** Logs an unexpected exception. Never throws, also when the log can't be written. */
export function logFault(log: Logger, message: string, error: unknown, facts: object = {}): void {
  quietly(() => log.error({ ...facts, err: error }, message));
}

/** The message of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function quietly(work: () => void): void {
  try {
    work();
  } catch {
    // There is no other place to report it.
  }
}
