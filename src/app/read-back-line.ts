import type { Faults } from './faults';

/** A container that is to be read back. `always`: also where the last verdict on it still stands. */
export interface Asked {
  readonly containerId: string;
  readonly always: boolean;
}

export interface ReadBackLineParts {
  /** Reads back those of these containers who need it; returns how many. */
  readonly read: (asked: readonly Asked[]) => number;
  /** The line has come to its end, and somebody was read. */
  readonly onEnd: () => void;
  readonly faults: Faults;
  readonly signal: AbortSignal;
}

/** Between two looks at the clock. */
const AT_ONCE = 16;
/** One turn of the event loop reads for so long; reading one back takes some microseconds. */
const TURN_MS = 5;

/**
 * Containers that are to be read back, as soon as can be without keeping the runtime waiting: for some milliseconds at once, then for
 * as long in each turn of the event loop. One that is in the line twice is read once, and after the second time it came.
 */
export class ReadBackLine {
  /** By container, whether it is read in any case. */
  private readonly waiting = new Map<string, boolean>();
  private scheduled = false;
  private hasRead = false;

  constructor(private readonly parts: ReadBackLineParts) {}

  /** Begins at once, unless the line has begun already. */
  add(containerIds: Iterable<string>, { always }: { readonly always: boolean }): void {
    for (const id of containerIds) this.waiting.set(id, always || this.waiting.get(id) === true);
    if (!this.scheduled && this.waiting.size > 0) this.takeTurn();
  }

  private takeTurn(): void {
    const { signal, faults, onEnd } = this.parts;
    if (signal.aborted) return;
    const endMs = performance.now() + TURN_MS;
    do this.readSome();
    while (this.waiting.size > 0 && performance.now() < endMs);
    if (this.waiting.size > 0) this.schedule();
    else if (this.hasRead) {
      this.hasRead = false;
      faults.contain('telling what was read back', onEnd);
    }
  }

  private readSome(): void {
    const some: Asked[] = [];
    for (const [containerId, always] of this.waiting) {
      if (some.length === AT_ONCE) break;
      some.push({ containerId, always });
      this.waiting.delete(containerId);
    }
    const count = this.parts.faults.contain('reading back', () => this.parts.read(some)) ?? 0;
    this.hasRead ||= count > 0;
  }

  private schedule(): void {
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      this.takeTurn();
    });
  }
}
