import type { NodeView } from '../../core/model/node-view';
import { hasPending, planChanges, retryPending } from '../../core/transition';
import type { Faults } from '../alarms/faults';
import type { Transactor } from './transactor';

export interface PendingQueueParts {
  readonly model: NodeView;
  readonly transactor: Pick<Transactor, 'change'>;
  readonly faults: Faults;
  readonly signal: AbortSignal;
}

/**
 * Serves the containers that lack CPUs where one transaction could not decide on all of them: some in each turn of the
 * event loop, so that the runtime is served in between.
 *
 * Each event that gives CPUs back begins with the first in the queue. A pass that is under way goes on to the end all
 * the same, and another follows it: however often CPUs come back, every container has its turn.
 */
export class PendingQueue {
  /** Containers that had their turn in this pass. */
  private readonly tried = new Set<string>();
  private scheduled = false;
  /** Another pass has to follow this one. */
  private again = false;
  private serving = false;

  constructor(private readonly parts: PendingQueueParts) {}

  /** Serves the first containers at once, and the others in later turns. Cheap when no container lacks CPUs. */
  lookNow(): void {
    if (!this.scheduled && hasPending(this.parts.model)) this.takeTurn();
  }

  /** A transaction could not decide on all containers. */
  goOn(): void {
    if (this.serving) return; // it was a transaction of this queue
    this.again ||= this.scheduled;
    this.schedule();
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      if (!this.parts.signal.aborted) this.takeTurn();
    });
  }

  private takeTurn(): void {
    const isCut = this.parts.faults.contain('serving who waits', () => this.serveSome()) ?? false;
    if (!isCut) {
      this.tried.clear();
      if (!this.again) return;
      this.again = false;
    }
    this.schedule();
  }

  private serveSome(): boolean {
    let isCut = false;
    this.serving = true;
    try {
      this.parts.transactor.change((draft) => {
        retryPending(draft, this.tried);
        ({ isCut } = draft);
        // A switched container may have left CPUs for one that had its turn already.
        this.again ||= draft.isDurable;
        return planChanges(draft);
      });
    } finally {
      this.serving = false;
    }
    return isCut;
  }
}
