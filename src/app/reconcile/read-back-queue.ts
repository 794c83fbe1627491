import { EarliestTimer } from '../../net/earliest-timer';
import type { Faults } from '../alarms/faults';
import type { Urgency } from '../transaction/post-commit';

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
/** Reading a hundred back, while the runtime makes the container for which they had to move, makes that take milliseconds longer. */
const GIVE_WAY_MS = 100;

/**
 * Containers that are to be read back, as soon as can be without keeping the runtime waiting: for some milliseconds at once, then for
 * as long in each turn of the event loop. One that is in the line twice is read once, and after the second time it came.
 */
export class ReadBackLine {
  /** By container, whether it is read in any case. */
  private readonly waiting = new Map<string, boolean>();
  /** The same, of those who can wait. */
  private readonly later = new Map<string, boolean>();
  private readonly timer: EarliestTimer;
  private scheduled = false;
  private hasRead = false;

  constructor(private readonly parts: ReadBackLineParts) {
    this.timer = new EarliestTimer(() => this.add([...this.later.keys()], { always: false }), parts.signal);
  }

  /** Begins at once, unless the line has begun already, or those who come now can wait. */
  add(containerIds: Iterable<string>, { always, canWait = false }: Urgency): void {
    for (const id of containerIds)
      this.addOne(id, always, canWait && !this.waiting.has(id) ? this.later : this.waiting);
    if (this.later.size > 0) this.timer.startIn(GIVE_WAY_MS);
    if (!this.scheduled && this.waiting.size > 0) this.takeTurn();
  }

  /** True for one that is in the line: it is read in any case then. */
  takesUp(containerId: string): boolean {
    const part = [this.waiting, this.later].find((each) => each.has(containerId));
    part?.set(containerId, true);
    return part !== undefined;
  }

  private addOne(id: string, always: boolean, part: Map<string, boolean>): void {
    const isAsked = always || this.waiting.get(id) === true || this.later.get(id) === true;
    this.later.delete(id);
    part.set(id, isAsked);
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
