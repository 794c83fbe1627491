import type { Logger } from 'pino';
import type { Alarms } from './alarms';

export interface FaultsParts {
  readonly log: Logger;
  readonly alarms: Alarms;
}

interface Lasting {
  readonly message: string;
  readonly count: number;
  readonly containerId: string | undefined;
}

/** A part that has failed so often in a row is an alarm. */
const LASTS_FROM = 3;

/**
 * Keeps a fault of one part from ending anything else. It is logged when it is new or another than before; when the same
 * part fails again and again it is an alarm, until that part succeeds. A part is named for the operator, such as
 * `looking at`, and may be about one container.
 */
export class Faults {
  private readonly lasting = new Map<string, Lasting>();

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

  /** The same for what takes its time; never rejects. */
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
    const before = this.lasting.get(subject);
    const count = (before?.count ?? 0) + 1;
    this.lasting.set(subject, { message, count, containerId });
    if (before?.message !== message)
      logFault(this.parts.log, 'a fault of cpusetd; everything else goes on', error, { part: subject });
    quietly(() => {
      if (count >= LASTS_FROM) this.parts.alarms.tell('internal-fault', subject, `${subject}: ${message}`);
    });
  }

  /** The part has succeeded. */
  over(part: string, containerId?: string): void {
    if (this.lasting.size > 0) this.forget(subjectOf(part, containerId));
  }

  /** Forgets containers that are gone. */
  keepOnly(containers: ReadonlyMap<string, unknown>): void {
    for (const [subject, { containerId }] of this.lasting)
      if (containerId !== undefined && !containers.has(containerId)) this.forget(subject);
  }

  private forget(subject: string): void {
    if (this.lasting.delete(subject)) quietly(() => this.parts.alarms.clear('internal-fault', subject));
  }
}

function subjectOf(part: string, containerId: string | undefined): string {
  return containerId === undefined ? part : `${part} ${containerId}`;
}

/** Logs an exception that nobody expected. Never throws: when the log can't be written either, there is nobody left to tell. */
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
    // Whom should it be told?
  }
}
