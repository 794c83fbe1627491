import type { Logger } from 'pino';
import type { Gap } from '../admin/status';
import { FOUND_UNPINNED, type Note } from '../core/transition';

export interface GapParts {
  readonly log: Logger;
  /** The gap is over: for metrics. */
  readonly onEnded: (gap: { readonly seconds: number; readonly containers: number }) => void;
}

/** So many names are kept for people to read; all are in the log. */
const MAX_NAMES = 20;

/**
 * The time in which containers could start without cpusetd: from the last sign of life of the process before, or from
 * the loss of the connection, until the runtime has told of all containers. Those that are found unpinned then have
 * been put right by the same transaction, before anyone was answered.
 */
export class GapKeeper {
  private open: { readonly fromMs: number } | undefined;
  private found: string[] = [];
  private last: Gap | undefined;

  /** The gap that is open since `fromMs`: at first it always is. */
  constructor(
    private readonly parts: GapParts,
    fromMs: number,
  ) {
    this.open = { fromMs };
  }

  /** The gap that lasts, else the last one that is over. */
  get current(): Gap | undefined {
    if (this.open) return { from: toTime(this.open.fromMs), containers: this.found.length, names: this.names() };
    return this.last;
  }

  /** The runtime no longer asks us. */
  begin(atMs: number): void {
    if (this.open) return;
    this.open = { fromMs: atMs };
    this.found = [];
  }

  /** Counts the containers that a transaction found unpinned. */
  note(notes: readonly Note[]): void {
    for (const { message, fields } of notes)
      if (message === FOUND_UNPINNED) this.found.push(`${String(fields['pod'])}/${String(fields['container'])}`);
  }

  /** The runtime asks us about every container. */
  end(atMs: number): void {
    if (!this.open) return;
    const { fromMs } = this.open;
    this.open = undefined;
    const containers = this.found.length;
    const seconds = Math.max(0, atMs - fromMs) / 1000;
    this.last = { from: toTime(fromMs), to: toTime(atMs), containers, names: this.names() };
    const level = containers > 0 ? 'warn' : 'info';
    this.parts.log[level](
      { from: this.last.from, seconds, containers, names: this.last.names },
      'the gap is closed: containers that started meanwhile are on their CPUs now',
    );
    this.parts.onEnded({ seconds, containers });
  }

  private names(): readonly string[] {
    return this.found.slice(0, MAX_NAMES);
  }
}

function toTime(ms: number): string {
  return new Date(ms).toISOString();
}
