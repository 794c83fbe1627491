import { samePromise, type Container } from '../model/container';
import type { Change } from '../model/change';
import type { NodeModel } from '../model/node-model';
import type { NodeView } from '../model/node-view';
import type { Write } from '../model/table';
import type { DomainEvent } from './domain-event';

/**
 * The changes of one event, made on the model at once and taken back whole by `rollback`.
 *
 * The caller saves first when `isDurable`, and rolls back when that fails: every answer was on disk.
 */
export class Draft {
  private readonly journal: Write[] = [];
  /** The values before the first change: the CPUs of shared containers follow from them. */
  private readonly before: Pick<NodeView, 'sharedPool' | 'exclusive'>;
  private readonly touchedIds = new Set<string>();
  private readonly touchedPods = new Set<string>();
  private decisionsLeft: number;
  private cut = false;
  private enlisted = false;
  readonly reported: DomainEvent[] = [];

  /** `now` is the time of the event, RFC 3339. */
  constructor(
    readonly model: NodeModel,
    readonly now: string,
  ) {
    this.decisionsLeft = mostDecisions(model);
    const { sharedPool, exclusive } = model;
    this.before = { sharedPool, exclusive };
  }

  /** True when some container that lacks CPUs was not decided on, because the number of decisions is bounded. */
  get isCut(): boolean {
    return this.cut;
  }

  /**
   * Counts decisions on containers that lack CPUs. False when they are too many for one transaction; then none is
   * counted, and the containers wait for the next.
   */
  spend(decisions: number): boolean {
    if (decisions > this.decisionsLeft) {
      this.cut = true;
      return false;
    }
    this.decisionsLeft -= decisions;
    return true;
  }

  /** True when the event added pods for which CPUs have to be planned. */
  get hasUnplanned(): boolean {
    return this.enlisted;
  }

  /** True when something changed that is kept on disk. */
  get isDurable(): boolean {
    return this.journal.some(({ table }) => table.options.isDurable);
  }

  /** True when a change has to be on disk before the answer. */
  get isPromise(): boolean {
    return this.journal.some(({ table: { options } }) => options.isDurable && !options.mayBeLate);
  }

  readonly put = (proposed: Change): void => {
    const change =
      proposed.kind === 'put-container' ? { ...proposed, container: this.dated(proposed.container) } : proposed;
    const write = this.model.apply(change);
    this.journal.push(write);
    this.touch(write);
    if (change.kind === 'put-unplanned') this.enlisted = true;
  };

  private touch({ table: { options }, before, after }: Write): void {
    if (options.podUidOf === undefined) return;
    if (after !== undefined) this.touchedPods.add(options.podUidOf(after));
    if (before !== undefined) this.touchedPods.add(options.podUidOf(before));
    if (options.containerIdOf === undefined) return;
    const id = after === undefined ? null : options.containerIdOf(after);
    const idBefore = before === undefined ? null : options.containerIdOf(before);
    if (id !== null) this.touchedIds.add(id);
    if (idBefore !== null && idBefore !== id) this.touchedIds.add(idBefore);
  }

  /** Dates a promise now, unless it is the same as before. */
  private dated(container: Container): Container {
    const { promise } = container;
    const before = this.model.allContainers.get(container.id);
    if (promise === undefined || (promise === before?.promise && container.promisedAt === before.promisedAt))
      return container;
    const isOld = samePromise(promise, before?.promise);
    const dated = isOld ? { ...container, promise: before!.promise! } : container;
    const promisedAt = isOld ? before?.promisedAt : this.now;
    if (promisedAt === undefined) return dated;
    // A new key comes first: V8 adds one to a copy slowly.
    return container.promisedAt === undefined ? { promisedAt, ...dated } : { ...dated, promisedAt };
  }

  /**
   * The containers whose promise may have changed, pause containers included: all when the shared pool, the machine or
   * the rules did.
   */
  readonly affected = (): Container[] => {
    const { allContainers } = this.model;
    if (this.concernsEveryone) return [...allContainers.values()];
    return [...this.touchedIds].flatMap((id) => allContainers.get(id) ?? []);
  };

  /** True when the promise of any container may have changed. */
  get concernsEveryone(): boolean {
    const { sharedPool, exclusive } = this.model;
    return !sharedPool.equals(this.before.sharedPool) || !exclusive.equals(this.before.exclusive) || this.hasNewGround;
  }

  /** True for a container that was changed itself, or whose assignment was. */
  hasTouched(containerId: string): boolean {
    return this.touchedIds.has(containerId);
  }

  /**
   * The containers whose last verdict may be out of date, removed ones included; undefined: all of them.
   */
  get outdated(): readonly string[] | undefined {
    return this.hasNewGround ? undefined : [...this.touchedIds];
  }

  /** The pods of all changed values, by the runtime's uid. */
  get podUids(): readonly string[] {
    return [...this.touchedPods];
  }

  /** Makes the changes and reports of `work` if it succeeds, and none of them otherwise. */
  attempt<T extends { readonly ok: boolean }>(work: () => T): T {
    const writes = this.journal.length;
    const reported = this.reported.length;
    const done = work();
    if (!done.ok) {
      this.undoFrom(writes);
      this.reported.length = reported;
    }
    return done;
  }

  report(event: DomainEvent): void {
    this.reported.push(event);
  }

  /** Takes every change back. The reports stay: a refusal is logged although nothing changed. */
  rollback(): void {
    this.undoFrom(0);
    this.touchedIds.clear();
    this.touchedPods.clear();
  }

  private undoFrom(index: number): void {
    for (const write of this.journal.splice(index).reverse()) this.model.undo(write);
  }

  private get hasNewGround(): boolean {
    return this.journal.some(({ table }) => table.options.concernsEveryone);
  }
}

const MOST_DECISIONS = 32;

/**
 * Most decisions of one transaction on containers that lack CPUs. A decision costs at most some microseconds for each
 * combination of NUMA nodes: with many nodes few are made while a request waits for its answer.
 */
export function mostDecisions({ topology }: Pick<NodeView, 'topology'>): number {
  return Math.max(1, Math.min(MOST_DECISIONS, 2 ** (16 - topology.numaNodes.length)));
}
