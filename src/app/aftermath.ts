import type { NodeEvent } from '../core/model/pod-event';
import type { Move } from '../core/plan/plan-moves';

export interface AftermathParts {
  /** Brings what follows the model up to date. */
  readonly follow: () => void;
  /** Looks at containers for the first time in their life; undefined = at all. */
  readonly check: (containerIds: readonly string[] | undefined) => void;
  readonly signal: AbortSignal;
}

/** What follows a transaction and that nobody waits for: it begins when the answer has left, once for all of a turn. */
export class Aftermath {
  private started: string[] = [];
  private synchronized = false;
  private scheduled = false;

  constructor(private readonly parts: AftermathParts) {}

  /** `event`: what the transaction was about, unless it was a change of our own. */
  begin(event: NodeEvent | undefined, moves: readonly Move[] = []): void {
    if (event?.kind === 'container-started') this.started.push(event.container.id);
    if (event?.kind === 'synchronize') this.synchronized = true;
    // Who was switched while it ran: its pod's quota may have to be lifted too.
    if (event?.kind === 'pod-spec' || event?.kind === 'pod-specs')
      this.started.push(...moves.map(({ containerId }) => containerId));
    if (this.scheduled) return;
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      if (!this.parts.signal.aborted) this.carryOut();
    });
  }

  private carryOut(): void {
    const { started, synchronized } = this;
    this.started = [];
    this.synchronized = false;
    this.parts.follow();
    if (synchronized) this.parts.check(undefined);
    else if (started.length > 0) this.parts.check(started);
  }
}
