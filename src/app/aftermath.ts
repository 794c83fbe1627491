import type { PodInfo } from '../core/model/events';
import type { Transaction } from './transactor';

export interface AftermathParts {
  /** Tells whom it may concern what was done. */
  readonly tell: (done: Transaction) => void;
  /** Looks whether what is above a new container in its pod lacks CPUs that came back unnoticed since the pod was started. */
  readonly makeRoom: (pod: PodInfo) => void;
  /** Brings what follows the model up to date. */
  readonly follow: () => void;
  /** Looks at containers for the first time in their life; undefined = at all. */
  readonly check: (containerIds: readonly string[] | undefined) => void;
  readonly signal: AbortSignal;
}

/** What follows a transaction and that nobody waits for: it begins when the answer has left, once for all of a turn. */
export class Aftermath {
  private waiting: Transaction[] = [];

  constructor(private readonly parts: AftermathParts) {}

  begin(done: Transaction): void {
    this.waiting.push(done);
    if (this.waiting.length === 1) setImmediate(() => this.carryOut());
  }

  private carryOut(): void {
    const { waiting, parts } = this;
    this.waiting = [];
    for (const done of waiting) parts.tell(done);
    if (parts.signal.aborted) return;
    for (const { request, answer } of waiting)
      if (request?.kind === 'create-container' && answer.kind === 'ok') parts.makeRoom(request.pod);
    parts.follow();
    if (waiting.some(({ event }) => event === 'synchronize')) parts.check(undefined);
    else {
      const met = waiting.flatMap(listMet);
      if (met.length > 0) parts.check(met);
    }
  }
}

/** Containers that have not been looked at as they are now. */
function listMet({ request, moves }: Transaction): readonly string[] {
  switch (request?.kind) {
    case 'container-started':
      return [request.container.id];
    // Who was switched while it ran: its pod's quota may have to be lifted too.
    case 'pod-spec':
    case 'pod-specs':
      return moves.map(({ containerId }) => containerId);
    default:
      return [];
  }
}
