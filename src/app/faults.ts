import type { Logger } from 'pino';
import type { Alarms } from './alarms';

export interface FaultsParts {
  readonly log: Logger;
  readonly alarms: Alarms;
}

interface Lasting {
  readonly message: string;
  readonly count: number;
}

/** A part that has failed so often in a row is an alarm. */
const LASTS_FROM = 2;

/**
 * Keeps a fault of one part from ending anything else. It is logged when it is new or another than before, and when the
 * same part fails again it is an alarm, until that part succeeds.
 */
export class Faults {
  private readonly lasting = new Map<string, Lasting>();

  constructor(private readonly parts: FaultsParts) {}

  /**
   * Does the work of a part, which is named for the operator: words, or the id of a container. Returns undefined when it
   * throws.
   */
  contain<T>(part: string, work: () => T): T | undefined {
    try {
      const result = work();
      this.clear(part);
      return result;
    } catch (error) {
      this.note(part, error);
      return undefined;
    }
  }

  /** The same for what takes its time; never rejects. */
  async containAsync(part: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.clear(part);
    } catch (error) {
      this.note(part, error);
    }
  }

  /** Forgets parts that are containers and gone. `isGone` is asked about every part that fails. */
  forget(isGone: (part: string) => boolean): void {
    for (const part of this.lasting.keys()) if (isGone(part)) this.clear(part);
  }

  /** Counts a fault that was caught elsewhere. */
  note(part: string, error: unknown): void {
    const message = messageOf(error);
    const before = this.lasting.get(part);
    const count = (before?.count ?? 0) + 1;
    this.lasting.set(part, { message, count });
    if (before?.message !== message)
      logFault(this.parts.log, 'a fault of cpusetd; everything else goes on', error, { part });
    quietly(() => {
      if (count >= LASTS_FROM) this.parts.alarms.tell('internal-fault', part, `${part}: ${message}`);
    });
  }

  private clear(part: string): void {
    if (!this.lasting.delete(part)) return;
    quietly(() => this.parts.alarms.clear('internal-fault', part));
  }
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
