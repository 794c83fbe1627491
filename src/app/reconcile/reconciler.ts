import { setImmediate as nextTurn } from 'node:timers/promises';
import { EarliestTimer } from '../../net/earliest-timer';
import type { DaemonContext } from '../context';
import { PendingQueue } from '../transaction/pending-queue';
import type { Urgency } from '../transaction/post-commit';
import type { Transactor } from '../transaction/transactor';
import { AT_ONCE, ReadBackQueue, TURN_MS, type ReadBackRequest } from './read-back-queue';
import { updateRequestAlarms } from './request-alarms';
import { RuntimeComparison, type ListedRuntime } from './runtime-comparison';
import { Sweep, type SweepOptions, type SweepParts } from './sweep';
import { UnnoticedStarts } from './unnoticed-starts';

export interface ReconcilerParts extends SweepParts {
  readonly transactor: Transactor;
  readonly runtime: ListedRuntime;
}

/**
 * Compares the promises with what the kernel and the runtime have, and repairs what differs: in rounds, after changes,
 * and when a repair is due. An exception in one part of a round ends nothing else.
 */
export class Reconciler {
  private readonly sweep: Sweep;
  private readonly pending: PendingQueue;
  private readonly comparison: RuntimeComparison;
  private readonly starts: UnnoticedStarts;
  private readonly queue: ReadBackQueue;
  private readonly repairTimer: EarliestTimer;
  private readonly context: DaemonContext;

  constructor(private readonly parts: ReconcilerParts) {
    const { context, transactor } = parts;
    const { model, faults, signal } = context;
    this.context = context;
    this.sweep = new Sweep(parts);
    this.pending = new PendingQueue({ model, transactor, faults, signal });
    this.comparison = new RuntimeComparison(parts);
    this.starts = new UnnoticedStarts(parts);
    this.queue = new ReadBackQueue({
      read: (requests) => this.readBackSome(requests),
      onEnd: () => context.events.emit('changed'),
      faults,
      signal,
    });
    const repairDue = (): Promise<void> => this.checkInTurns(this.sweep.takeDue(performance.now()));
    this.repairTimer = new EarliestTimer(() => faults.containAsync('repairing what was due', repairDue), signal);
    context.events.on('decided', 'serving those who lack CPUs', ({ isCut }) => {
      if (isCut) this.pending.goOn();
    });
  }

  /** One round over everything: cgroups, then the runtime's lists. */
  async round(): Promise<void> {
    const { faults } = this.context;
    this.pending.lookNow();
    faults.contain('saving again', () => this.parts.transactor.saveAgain());
    faults.contain('looking for starts', () => this.starts.look());
    await faults.containAsync('the round over cgroups', () => this.checkAll({ sample: true }));
    faults.contain('forgetting who is gone', () => this.forgetTheGone());
    await faults.containAsync('comparing with the runtime', () => this.comparison.compare());
  }

  /** Checks these containers now. `written`: another writer has just written their cgroups. */
  check(containerIds: readonly string[], { written = false } = {}): void {
    this.sweep.run(containerIds, { written });
    this.endSweep();
  }

  /**
   * Checks all containers, then all pause containers: some at once, and the others in later turns of the event loop. A
   * container that is made meanwhile is checked when it starts.
   */
  async checkAll({ sample = false } = {}): Promise<void> {
    const { model } = this.context;
    const ofPods = [...model.containers.keys()];
    const ids = [...ofPods, ...[...model.allContainers.keys()].filter((id) => !model.containers.has(id))];
    await this.checkInTurns(ids, sample ? { sampled: this.sweep.chooseSampled(ofPods) } : {});
    const { context, parts } = this;
    context.faults.contain('comparing with requests', () => updateRequestAlarms(context, parts.verdicts));
  }

  /**
   * Reads containers back, soon and in turns: those whose last verdict is out of date; `always`: the others too.
   * `canWait`: not before the containers that the runtime is making.
   */
  readBack(
    containerIds: Iterable<string> = this.context.model.allContainers.keys(),
    { always = false, canWait = false }: Partial<Urgency> = {},
  ): void {
    this.queue.add(containerIds, { always, canWait });
  }

  /** True for a container that is in the queue: it is read back soon, and repaired then. */
  willReadBack(containerId: string): boolean {
    return this.queue.takesUp(containerId);
  }

  /** These containers' cpusets were written, and as promised: the runtime may have carried out a move or a repair. */
  noteWritten(containerIds: readonly string[]): void {
    const { verdicts } = this.parts;
    const isKept = (id: string): boolean => verdicts.get(id)?.verdict.kind === 'kept';
    this.queue.add(containerIds.filter(isKept), { always: false });
    this.queue.add(
      containerIds.filter((id) => !isKept(id)),
      { always: true },
    );
  }

  private async checkInTurns(containerIds: readonly string[], options: SweepOptions = {}): Promise<void> {
    let endMs = performance.now() + TURN_MS;
    try {
      for (let from = 0; from < containerIds.length && !this.context.signal.aborted; from += AT_ONCE) {
        if (performance.now() >= endMs) {
          await nextTurn();
          endMs = performance.now() + TURN_MS;
        }
        this.sweep.run(containerIds.slice(from, from + AT_ONCE), options);
      }
    } finally {
      this.endSweep();
    }
  }

  private readBackSome(requests: readonly ReadBackRequest[]): number {
    const { read, unsettled } = this.sweep.readBack(requests);
    if (unsettled.length > 0) this.check(unsettled);
    return read;
  }

  private endSweep(): void {
    const { events, signal } = this.context;
    if (signal.aborted) return;
    const { nextDueMs } = this.sweep;
    if (nextDueMs !== undefined) this.repairTimer.restartIn(Math.max(0, nextDueMs - performance.now()));
    events.emit('changed');
  }

  private forgetTheGone(): void {
    const { model, cgroups, alarms, faults } = this.context;
    const { verdicts, diagnosis } = this.parts;
    for (const part of [faults, verdicts, diagnosis, this.sweep, cgroups]) part.keepOnly(model.allContainers);
    for (const { kind, subject } of alarms.list())
      if (kind === 'repairs-stopped' && !model.allContainers.has(subject)) alarms.clear(kind, subject);
  }
}
