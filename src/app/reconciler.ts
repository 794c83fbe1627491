import type { Logger } from 'pino';
import type { NodeModel } from '../core/model/node-model';
import { hasCgroup } from '../core/plan/plan-moves';
import { compareListing, reconcile, type RuntimeListing } from '../core/transition';
import type { Observation } from '../core/verdict/observation';
import type { Cgroups } from '../host';
import { observe } from './observe';
import type { Transactor } from './transactor';
import type { VerdictBook } from './verdict-book';

export interface ReconcilerParts {
  readonly model: NodeModel;
  readonly transactor: Transactor;
  readonly cgroups: Cgroups;
  readonly verdicts: VerdictBook;
  /** Complete lists of the runtime; undefined when there is no way to ask, rejects when asking failed. */
  readonly listRuntime?: () => Promise<RuntimeListing>;
  /** Running containers that nobody told us of: the runtime has to describe them. */
  readonly resynchronize: (containerIds: readonly string[]) => void;
  readonly now: () => string;
  readonly log: Logger;
  readonly onSwept?: (sweep: {
    readonly containers: number;
    readonly drifted: number;
    readonly durationMs: number;
  }) => void;
}

/**
 * Compares what was promised with what the kernel and the runtime really have, and puts right what differs. A fault of
 * one container never stops the others.
 */
export class Reconciler {
  private strangers: ReadonlySet<string> = new Set();

  constructor(private readonly parts: ReconcilerParts) {}

  /** One round over everything: cgroups, then the runtime's lists. */
  async round(): Promise<void> {
    this.sweep();
    this.parts.transactor.saveUnsaved();
    await this.compareWithRuntime();
  }

  /** Reads back every running container, or the given ones, and repairs what drifted. */
  sweep(containerIds?: readonly string[]): void {
    const { model, transactor, verdicts, now, onSwept } = this.parts;
    const start = performance.now();
    const observations = this.observeAll(containerIds ?? [...model.containers.keys()]);
    let drifted = 0;
    transactor.change((draft) => {
      const { judged, moves } = reconcile(draft, observations);
      for (const { containerId, verdict } of judged) {
        verdicts.record(containerId, verdict, observations.get(containerId)!, now());
        if (verdict.kind === 'drifted') drifted++;
      }
      return moves;
    });
    if (drifted > 0) this.lookAgain(observations);
    verdicts.keepOnly(model.containers);
    onSwept?.({ containers: observations.size, drifted, durationMs: performance.now() - start });
  }

  /** After a repair the verdict is given on what the kernel has now, not on what was hoped for. */
  private lookAgain(observations: ReadonlyMap<string, Observation>): void {
    const { model, transactor, verdicts, now } = this.parts;
    const repaired = [...observations.keys()].filter((id) => verdicts.get(id)?.verdict.kind === 'drifted');
    const seen = this.observeAll(repaired);
    transactor.change((draft) => {
      const { judged } = reconcile(draft, seen);
      for (const { containerId, verdict } of judged) {
        verdicts.record(containerId, verdict, seen.get(containerId)!, now());
        if (verdict.kind === 'kept' || verdict.kind === 'held-under-old-rules') {
          const cpus = model.containers.get(containerId)?.promise?.cpus.toString();
          draft.note('info', 'repaired', { containerId, cpus });
        }
      }
      return [];
    });
  }

  private observeAll(containerIds: readonly string[]): Map<string, Observation> {
    const observations = new Map<string, Observation>();
    for (const id of containerIds) {
      const container = this.parts.model.containers.get(id);
      if (!container) continue;
      observations.set(
        id,
        hasCgroup(container) ? observe(this.parts.cgroups, container.cgroupsPath) : { kind: 'gone' },
      );
    }
    return observations;
  }

  private async compareWithRuntime(): Promise<void> {
    const { model, transactor, listRuntime, resynchronize, log } = this.parts;
    if (!listRuntime) return;
    const before = {
      sandboxIds: new Set(model.pods.keys()),
      containerIds: new Set(model.containers.keys()),
      podUids: new Set([...model.assignments.values()].map(({ podUid }) => podUid)),
    };
    let listing: RuntimeListing;
    try {
      listing = await listRuntime();
    } catch (error) {
      // An incomplete view releases nothing; the next round asks again.
      log.debug({ err: error }, 'the runtime could not be listed');
      return;
    }
    let unknown: readonly string[] = [];
    transactor.change((draft) => {
      unknown = compareListing(draft, listing, before);
      return [];
    });
    // One that is unknown twice was not just being made when the list was taken.
    const lasting = unknown.filter((id) => this.strangers.has(id));
    this.strangers = new Set(unknown);
    if (lasting.length > 0) resynchronize(lasting);
  }
}
