import type { PodInfo } from '../../core/model/events';
import type { Faults } from '../alarms/faults';
import type { DaemonEvents } from './daemon-events';
import type { Transaction } from './transaction';

export interface Urgency {
  /** It is read also where the last verdict on it still stands. */
  readonly always: boolean;
  /** It gives way to what the runtime is making: reading begins `GIVE_WAY_MS` later. */
  readonly canWait?: boolean;
}

export interface PostCommitParts {
  readonly events: DaemonEvents;
  /** Gives CPUs back to the cgroups above a new container, which may have gone offline since the pod was started. */
  readonly widenPod: (pod: PodInfo) => void;
  /**
   * Watches the new ones of these containers, undefined = of all. It runs before they are read, so that no write in
   * between is missed.
   */
  readonly watch: (containerIds: readonly string[] | undefined) => void;
  /** Reads containers for the first time after their start. */
  readonly check: (containerIds: readonly string[]) => void;
  /**
   * Reads back those of these containers whose last verdict is out of date; undefined = of all. `always`: the others
   * too. `canWait`: they had to move for a container that the runtime is making now.
   */
  readonly readBack: (containerIds: readonly string[] | undefined, urgency: Urgency) => void;
  readonly faults: Faults;
  readonly signal: AbortSignal;
}

/**
 * Does the work after a transaction that no caller waits for: listeners, watching, reading back. It runs once per turn
 * of the event loop, after the answers were sent. An exception in one part keeps no other part from running.
 */
export class PostCommit {
  private waiting: Transaction[] = [];

  constructor(private readonly parts: PostCommitParts) {}

  begin(done: Transaction): void {
    this.waiting.push(done);
    if (this.waiting.length === 1) setImmediate(() => this.carryOut());
  }

  private carryOut(): void {
    const { waiting, parts } = this;
    const { events, widenPod, watch, check, readBack, faults, signal } = parts;
    this.waiting = [];
    for (const done of waiting) events.emit('committed', done);
    if (signal.aborted) return;
    let isMaking = false;
    for (const { request, answer } of waiting)
      if (request?.kind === 'create-container' && answer.kind === 'ok') {
        isMaking = true;
        faults.contain('making room above a container', () => widenPod(request.pod));
      }
    const outdated = listOutdated(waiting);
    faults.contain('watching cpusets', () => watch(outdated));
    faults.contain('looking at who is new', () => {
      const started = waiting.flatMap(({ request }) =>
        request?.kind === 'container-started' ? [request.container.id] : [],
      );
      if (started.length > 0) check(started);
    });
    faults.contain('reading back', () => {
      if (waiting.some(({ event }) => event === 'synchronize')) readBack(undefined, { always: true });
      else if (outdated?.length !== 0) readBack(outdated, { always: false, canWait: isMaking });
    });
    // Listeners that show the node run after the first read-back: so most changes are shown whole, and once.
    events.emit('turnEnded');
  }
}

function listOutdated(done: readonly Transaction[]): readonly string[] | undefined {
  if (done.length === 1) return done[0]!.outdated;
  const ids = new Set<string>();
  for (const { outdated } of done) {
    if (outdated === undefined) return undefined;
    for (const id of outdated) ids.add(id);
  }
  return [...ids];
}
