import { setImmediate as nextTurn } from 'node:timers/promises';
import { hasCgroup, samePromise, type Container, type CpuPromise } from '../../core/model/container';
import { namesIn } from '../../core/model/names-of';
import { planQuotas, type QuotaStep } from '../../core/plan/plan-quotas';
import { reconcile, type DriftPolicy, type Judged } from '../../core/transition';
import { judge, type Verdict } from '../../core/verdict/judge';
import { isOutdated, basisOf } from '../../core/verdict/judgement';
import type { Observation, Seen } from '../../core/verdict/observation';
import type { RepairDecision } from '../../core/verdict/repair-backoff';
import { ContainerObserver } from '../cgroups/container-observer';
import type { DaemonContext } from '../context';
import type { VerdictStore } from '../status/verdict-store';
import { PendingQueue } from '../transaction/pending-queue';
import type { Urgency } from '../transaction/post-commit';
import type { Transactor } from '../transaction/transactor';
import type { DriftDiagnosis } from './drift-diagnosis';
import { AT_ONCE, ReadBackQueue, TURN_MS, type ReadBackRequest } from './read-back-queue';
import { RepairHistory } from './repair-history';
import { RuntimeComparison, type ListedRuntime } from './runtime-comparison';

export interface ReconcilerParts {
  readonly context: DaemonContext;
  readonly transactor: Transactor;
  readonly verdicts: VerdictStore;
  readonly diagnosis: DriftDiagnosis;
  readonly runtime: ListedRuntime;
}

interface SweepOptions {
  readonly written?: boolean;
  /** Containers of which threads are looked at. */
  readonly sampled?: ReadonlySet<string>;
}

/**
 * Compares the promises with what the kernel and the runtime have, and repairs what differs. An exception in the work for one
 * container, or in one part of a round, ends nothing else.
 */
export class Reconciler {
  private readonly repairs = new RepairHistory();
  private readonly containerObserver: ContainerObserver;
  private readonly pending: PendingQueue;
  private readonly comparison: RuntimeComparison;
  private readonly queue: ReadBackQueue;
  /** Containers whose repair was left to the runtime, because the cgroup was not written here. */
  private readonly delegatedRepairs = new Set<string>();
  private timer: NodeJS.Timeout | undefined;
  private readonly context: DaemonContext;

  constructor(private readonly parts: ReconcilerParts) {
    const { context, transactor } = parts;
    const { cgroups, model, faults, signal } = context;
    this.context = context;
    this.containerObserver = new ContainerObserver(cgroups.files, faults);
    this.pending = new PendingQueue({ model, transactor, faults, signal });
    this.comparison = new RuntimeComparison(parts);
    this.queue = new ReadBackQueue({
      read: (requests) => this.readBackSome(requests),
      onEnd: () => context.events.emit('changed'),
      faults,
      signal,
    });
    signal.addEventListener('abort', () => clearTimeout(this.timer), { once: true });
    context.events.on('decided', 'serving those who lack CPUs', ({ isCut }) => {
      if (isCut) this.pending.goOn();
    });
    context.events.on('updateFailed', 'noting a failed repair', ({ containerId }) =>
      this.noteUpdateFailed(containerId),
    );
  }

  /** One round over everything: cgroups, then the runtime's lists. */
  async round(): Promise<void> {
    const { faults } = this.context;
    this.pending.lookNow();
    faults.contain('saving again', () => this.parts.transactor.saveAgain());
    await faults.containAsync('the round over cgroups', () => this.checkAll({ sample: true }));
    faults.contain('forgetting who is gone', () => this.forgetTheGone());
    await faults.containAsync('comparing with the runtime', () => this.comparison.compare());
  }

  /** Looks at these containers now. `written`: because somebody has just written their cgroups. */
  check(containerIds: readonly string[], { written = false } = {}): void {
    this.sweep(containerIds, { written });
    this.endSweep();
  }

  /**
   * Looks at all containers, then at all pause containers: some at once, and the others in later turns of the event loop. Who
   * comes meanwhile is looked at when it starts.
   */
  async checkAll({ sample = false } = {}): Promise<void> {
    const { model } = this.context;
    const ofPods = [...model.containers.keys()];
    const ids = [...ofPods, ...[...model.allContainers.keys()].filter((id) => !model.containers.has(id))];
    const sampled = sample ? this.containerObserver.chooseSampled(ofPods) : undefined;
    await this.checkInTurns(ids, { ...(sampled && { sampled }) });
  }

  /**
   * Reads containers back, soon and in turns: those whose last verdict was given on something else than is true now; `always`: the
   * others too. `canWait`: not before what the runtime is making.
   */
  readBack(
    containerIds: Iterable<string> = this.context.model.allContainers.keys(),
    { always = false, canWait = false }: Partial<Urgency> = {},
  ): void {
    this.queue.add(containerIds, { always, canWait });
  }

  /** True for one that is read back anyway, soon, and put right then. */
  willReadBack(containerId: string): boolean {
    return this.queue.takesUp(containerId);
  }

  private async checkInTurns(containerIds: readonly string[], options: SweepOptions): Promise<void> {
    let endMs = performance.now() + TURN_MS;
    try {
      for (let from = 0; from < containerIds.length && !this.context.signal.aborted; from += AT_ONCE) {
        if (performance.now() >= endMs) {
          await nextTurn();
          endMs = performance.now() + TURN_MS;
        }
        this.sweep(containerIds.slice(from, from + AT_ONCE), options);
      }
    } finally {
      this.endSweep();
    }
  }

  /** Somebody wrote these containers' cpusets, and as promised: the runtime may have carried out a move or a repair. */
  noteWritten(containerIds: readonly string[]): void {
    const { verdicts } = this.parts;
    const isKept = (id: string): boolean => verdicts.get(id)?.verdict.kind === 'kept';
    this.queue.add(containerIds.filter(isKept), { always: false });
    this.queue.add(
      containerIds.filter((id) => !isKept(id)),
      { always: true },
    );
  }

  private readBackSome(requests: readonly ReadBackRequest[]): number {
    const { model, faults } = this.context;
    const { verdicts } = this.parts;
    const containers = requests.flatMap(({ containerId, always }) => {
      const container = model.allContainers.get(containerId);
      return container && hasCgroup(container) && (always || isOutdated(model, container, verdicts.get(containerId)))
        ? [container]
        : [];
    });
    const nowMs = performance.now();
    const unsettled = [...this.look(containers)].filter(([id, observation]) => {
      const container = model.allContainers.get(id)!;
      const isSettled = faults.contain('judging', () => this.judgeAsRead(container, observation, nowMs), id);
      return isSettled !== true;
    });
    if (unsettled.length > 0) this.check(unsettled.map(([id]) => id));
    return containers.length;
  }

  /** Most of the time there is only a verdict to be given. Returns false, and does nothing, when more is to be done. */
  private judgeAsRead(container: Container, observation: Observation, nowMs: number): boolean {
    const { model } = this.context;
    const verdict = judge(model, container, observation);
    const isCarriedOut = samePromise(container.applied, container.promise);
    if (verdict.kind === 'drifted' && !isCarriedOut) {
      // A move that failed: nobody wrote anything else. The runtime makes it, or the next round does.
      this.record(container, { kind: 'pending', because: `${verdict.because}: not carried out yet` }, observation);
      return true;
    }
    const isLearnt = isCarriedOut || observation.kind !== 'seen' || container.promise === undefined;
    if (verdict.kind === 'drifted' || !isLearnt || planQuotas(model, container, observation).length > 0) return false;
    this.record(container, verdict, observation);
    if (observation.kind === 'seen') this.settle({ containerId: container.id, verdict }, observation, nowMs);
    return true;
  }

  /** Reads containers back, repairs what drifted, and judges them. */
  private sweep(containerIds: readonly string[], { written = false, sampled }: SweepOptions): void {
    const { model, signal, faults } = this.context;
    if (signal.aborted) return;
    const nowMs = performance.now();
    const containers = containerIds.flatMap((id) => model.allContainers.get(id) ?? []);
    const looked = new Map(containers.map((container) => [container.id, container]));
    const observations = this.look(containers, sampled);
    const judged = this.judgeAll(observations, this.policyOf(nowMs, written));
    for (const one of judged)
      faults.contain(
        'keeping the verdict on',
        () => this.keep(one, looked.get(one.containerId)!, observations.get(one.containerId)!, nowMs),
        one.containerId,
      );
    this.lookAgain(judged, this.writeQuotas(judged));
  }

  private endSweep(): void {
    const { events, signal } = this.context;
    if (signal.aborted) return;
    this.scheduleRepairs();
    events.emit('changed');
  }

  /** One sweep decides on each container once, however often it is asked. */
  private policyOf(nowMs: number, written: boolean): DriftPolicy {
    const { faults } = this.context;
    const restraints = new Map<string, RepairDecision>();
    return {
      explain: (container, seen) =>
        faults.contain(
          'explaining the drift of',
          () =>
            this.parts.diagnosis.diagnose(container, { seen, repairs: this.repairs.repairsOf(container.id), nowMs }),
          container.id,
        ) ?? { cause: 'unknown-writer', because: 'looking for the cause failed' },
      decideRepair: ({ id, promise }) => {
        const restraint = restraints.get(id) ?? this.repairs.decideRepair(id, { promise: promise!, nowMs, written });
        restraints.set(id, restraint);
        return restraint;
      },
    };
  }

  /** All in one change. When that throws nothing of it remains, and each has one of its own: of the faulty one nothing is known. */
  private judgeAll(observations: ReadonlyMap<string, Observation>, policy: DriftPolicy): readonly Judged[] {
    const { faults } = this.context;
    const part = 'judging';
    try {
      const judged = this.judge(observations, policy);
      for (const id of observations.keys()) faults.over(part, id);
      return judged;
    } catch {
      return [...observations].flatMap(
        ([id, observation]) =>
          faults.contain(part, () => this.judge(new Map([[id, observation]]), policy), id) ?? unjudged(id),
      );
    }
  }

  private judge(observations: ReadonlyMap<string, Observation>, policy: DriftPolicy): readonly Judged[] {
    let judged: readonly Judged[] = [];
    this.parts.transactor.change((draft) => {
      const outcome = reconcile(draft, observations, policy);
      judged = outcome.judged;
      return outcome.moves;
    });
    return judged;
  }

  private keep(one: Judged, looked: Container, observation: Observation, nowMs: number): void {
    const { verdict, drift } = one;
    const before = this.record(looked, verdict, observation);
    if (observation.kind === 'seen') this.settle(one, observation, nowMs);
    if (drift && (drift.action === 'repair' || before?.verdict.kind !== 'drifted'))
      this.context.events.emit('drifted', drift);
  }

  private look(containers: readonly Container[], sampled?: ReadonlySet<string>): Map<string, Observation> {
    const before = (id: string) => this.parts.verdicts.get(id)?.observation;
    return this.containerObserver.observe(containers, { before, ...(sampled && { sampled }) });
  }

  /** `looked`: the container as it was when it was looked at. */
  private record(looked: Container, verdict: Verdict, observation: Observation) {
    const { model, now } = this.context;
    return this.parts.verdicts.record(looked.id, { verdict, observation, basis: basisOf(model, looked) }, now());
  }

  private settle({ containerId, verdict, drift }: Judged, seen: Seen, nowMs: number): void {
    const { alarms, model } = this.context;
    if (verdict.kind === 'unknown') return;
    const container = model.allContainers.get(containerId);
    const names = container && namesIn(model, container);
    if (drift?.action === 'stop') alarms.raise('repairs-stopped', containerId, verdict.because, names);
    else if (drift?.action !== 'wait') alarms.clear('repairs-stopped', containerId);
    if (drift) return;
    this.repairs.settle(containerId, nowMs);
    const promise = this.context.model.allContainers.get(containerId)?.promise;
    if (this.delegatedRepairs.has(containerId) && hasAsPromised(promise, seen)) this.noteRepaired(containerId);
  }

  /** The runtime did not write what this container is promised. */
  noteUpdateFailed(containerId: string): void {
    if (this.delegatedRepairs.has(containerId)) this.reportRepair('failed', containerId);
  }

  private reportRepair(outcome: 'ok' | 'failed', containerId: string): void {
    this.context.events.emit('repaired', { containerId, outcome });
  }

  private noteRepaired(containerId: string): void {
    const { model, log } = this.context;
    this.delegatedRepairs.delete(containerId);
    this.reportRepair('ok', containerId);
    const container = model.allContainers.get(containerId);
    if (container) log.info({ ...namesIn(model, container), cpus: container.promise?.cpus.toString() }, 'repaired');
  }

  /** Returns whose quotas were written. */
  private writeQuotas(judged: readonly Judged[]): string[] {
    const { cgroups, faults } = this.context;
    const written = (containerId: string, step: QuotaStep): boolean =>
      faults.contain('writing the quota of', () => cgroups.writeQuota(step), containerId) === true;
    return judged.flatMap(({ containerId, quotas = [] }) =>
      quotas.filter((step) => written(containerId, step)).length > 0 ? [containerId] : [],
    );
  }

  /** After a repair the verdict is given on what the kernel has now, not on what was hoped for. */
  private lookAgain(judged: readonly Judged[], lifted: readonly string[]): void {
    const { model, faults } = this.context;
    const repaired = new Set(
      judged.flatMap(({ containerId, drift }) => (drift?.action === 'repair' ? [containerId] : [])),
    );
    const ids = [...new Set([...repaired, ...lifted])];
    for (const [id, observation] of this.look(ids.flatMap((id) => model.allContainers.get(id) ?? [])))
      faults.contain('judging again', () => this.judgeAgain(id, observation, repaired.has(id)), id);
  }

  private judgeAgain(containerId: string, observation: Observation, isRepaired: boolean): void {
    const { model, cgroups } = this.context;
    const container = model.allContainers.get(containerId)!;
    const verdict = judge(model, container, observation);
    // Where the runtime does the writing the verdict stays: it has not come to it yet.
    if (verdict.kind !== 'drifted' || !isRepaired) this.record(container, verdict, observation);
    if (!isRepaired) return;
    if (observation.kind === 'seen' && hasAsPromised(container.promise, observation)) this.noteRepaired(containerId);
    else if (observation.kind === 'unreadable')
      this.delegatedRepairs.add(containerId); // told when it can be read
    else if (verdict.kind === 'drifted') {
      // What the kernel took and somebody undid before we looked is a quarrel with them, not a refusal.
      const isRefused = !container.promise || !samePromise(container.applied, container.promise);
      if (isRefused) this.delegatedRepairs.add(containerId); // the runtime will try, on its own
      if (cgroups.canWrite && isRefused) this.repairs.noteRefusal(containerId);
      if (cgroups.canWrite) this.reportRepair('failed', containerId);
    }
  }

  /** Repairs that wait are made when their time has come. */
  private scheduleRepairs(): void {
    clearTimeout(this.timer);
    const { nextDueMs } = this.repairs;
    if (nextDueMs === undefined) return;
    const repairDue = async (): Promise<void> => {
      const due = this.repairs.takeDue(performance.now());
      await this.checkInTurns(due, {});
    };
    this.timer = setTimeout(
      () => {
        const { faults } = this.context;
        faults
          .containAsync('repairing what was due', repairDue)
          .catch((error: unknown) => faults.note('repairing what was due', error));
      },
      Math.max(0, nextDueMs - performance.now()) + 1,
    );
    this.timer.unref();
  }

  private forgetTheGone(): void {
    const { model, cgroups, alarms, faults } = this.context;
    const { verdicts, diagnosis } = this.parts;
    faults.keepOnly(model.allContainers);
    verdicts.keepOnly(model.allContainers);
    diagnosis.keepOnly(model.allContainers);
    this.repairs.keepOnly(model.allContainers);
    cgroups.keepOnly(model.allContainers);
    for (const id of this.delegatedRepairs) if (!model.allContainers.has(id)) this.delegatedRepairs.delete(id);
    for (const { kind, subject } of alarms.list())
      if (kind === 'repairs-stopped' && !model.allContainers.has(subject)) alarms.clear(kind, subject);
  }
}

function hasAsPromised(promise: CpuPromise | undefined, { cpus, mems }: Seen): boolean {
  return promise !== undefined && cpus.equals(promise.cpus) && (promise.mems.isEmpty || mems.equals(promise.mems));
}

function unjudged(containerId: string): Judged {
  return { containerId, verdict: { kind: 'unknown', because: 'a fault of cpusetd in judging it; the log says more' } };
}
