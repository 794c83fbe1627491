import type { PodInfo } from '../core/model/events';
import type { Faults } from './faults';
import type { Transaction } from './transactor';

export interface AftermathParts {
  /** Those whom it may concern what was done, each by the name of what it does. */
  readonly tell: Readonly<Record<string, (done: Transaction) => void>>;
  /** Looks whether what is above a new container in its pod lacks CPUs that came back unnoticed since the pod was started. */
  readonly makeRoom: (pod: PodInfo) => void;
  /** Those who follow the model, by the name of what they do: each brings itself up to date. */
  readonly follow: Readonly<Record<string, () => void>>;
  /** Looks at containers for the first time in their life; undefined = at all. */
  readonly check: (containerIds: readonly string[] | undefined) => void;
  readonly faults: Faults;
  readonly signal: AbortSignal;
}

/**
 * What follows a transaction and that nobody waits for: it begins when the answer has left, once for all of a turn. An
 * exception in one part of it keeps no other part from its turn.
 */
export class Aftermath {
  private waiting: Transaction[] = [];

  constructor(private readonly parts: AftermathParts) {}

  begin(done: Transaction): void {
    this.waiting.push(done);
    if (this.waiting.length === 1) setImmediate(() => this.carryOut());
  }

  private carryOut(): void {
    const { waiting, parts } = this;
    const { tell, makeRoom, follow, check, faults, signal } = parts;
    this.waiting = [];
    for (const done of waiting)
      for (const [name, listener] of Object.entries(tell)) faults.contain(name, () => listener(done));
    if (signal.aborted) return;
    for (const { request, answer } of waiting)
      if (request?.kind === 'create-container' && answer.kind === 'ok')
        faults.contain('making room above a container', () => makeRoom(request.pod));
    for (const [name, follower] of Object.entries(follow)) faults.contain(name, follower);
    faults.contain('looking at who is new', () => {
      const met = waiting.flatMap(listMet);
      if (waiting.some(({ event }) => event === 'synchronize')) check(undefined);
      else if (met.length > 0) check(met);
    });
  }
}

/** Containers that have not been looked at as they are now. */
function listMet({ request, moves }: Transaction): readonly string[] {
  switch (request?.kind) {
    case 'container-started':
      return [request.container.id];
    case 'pauses-found':
      return request.pauses.map(({ sandboxId }) => sandboxId);
    // Who was switched while it ran: its pod's quota may have to be lifted too.
    case 'pod-spec':
    case 'pod-specs':
      return moves.map(({ containerId }) => containerId);
    default:
      return [];
  }
}
