import { EarliestTimer } from '../../net/earliest-timer';
import type { Faults } from '../alarms/faults';
import type { Urgency } from '../transaction/post-commit';

/** A container that is to be read back. `always`: also where the last verdict on it still stands. */
export interface ReadBackRequest {
  readonly containerId: string;
  readonly always: boolean;
}

export interface ReadBackQueueParts {
  /** Reads back those of these containers that need it; returns their number. */
  readonly read: (requests: readonly ReadBackRequest[]) => number;
  /** The queue is empty, and at least one container was read. */
  readonly onEnd: () => void;
  readonly faults: Faults;
  readonly signal: AbortSignal;
}

/** Containers that are read between two looks at the clock. */
export const AT_ONCE = 16;
/**
 * Maximum time of reading in one turn of the event loop; one container takes some microseconds, its repair one more.
 */
export const TURN_MS = 5;
/**
 * Delay of containers that can wait: to read a hundred of them makes the creation that moved them take milliseconds
 * longer.
 */
const GIVE_WAY_MS = 100;

/**
 * Containers to read back as soon as possible without delaying the runtime: for some milliseconds at once, then for as
 * long in each turn of the event loop. A container that was added twice is read once, after the second time.
 */
export class ReadBackQueue {
  /** By container id: true when it is read in any case. */
  private readonly waiting = new Map<string, boolean>();
  /** The same for containers that can wait. */
  private readonly later = new Map<string, boolean>();
  private readonly timer: EarliestTimer;
  private scheduled = false;
  private hasRead = false;

  constructor(private readonly parts: ReadBackQueueParts) {
    this.timer = new EarliestTimer(() => this.add([...this.later.keys()], { always: false }), parts.signal);
  }

  /** Begins at once, unless reading has begun already or the containers can wait. */
  add(containerIds: Iterable<string>, { always, canWait = false }: Urgency): void {
    for (const id of containerIds)
      this.addOne(id, always, canWait && !this.waiting.has(id) ? this.later : this.waiting);
    if (this.later.size > 0) this.timer.startIn(GIVE_WAY_MS);
    if (!this.scheduled && this.waiting.size > 0) this.takeTurn();
  }

  /** Returns true for a container in the queue; it is read in any case then. */
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
      faults.contain('reporting the read-back', onEnd);
    }
  }

  private readSome(): void {
    const some: ReadBackRequest[] = [];
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
