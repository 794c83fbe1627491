import { hasCgroup, type Container } from '../../core/model/container';
import { namesIn } from '../../core/model/names-of';
import type { QuotaStep } from '../../core/verdict/plan-quotas';
import { reconcile, type DriftPolicy, type Judged } from '../../core/transition';
import { judge, type Verdict } from '../../core/verdict/judge';
import { isOutdated, basisOf } from '../../core/verdict/judgement';
import type { Observation, Seen } from '../../core/verdict/observation';
import { ContainerObserver } from '../cgroups/container-observer';
import type { DaemonContext } from '../context';
import type { VerdictStore } from '../status/verdict-store';
import type { Transactor } from '../transaction/transactor';
import type { DriftDiagnosis } from './drift-diagnosis';
import { driftPolicy } from './drift-policy';
import { LostCgroups } from './lost-cgroups';
import { checkRepair, hasAsPromised, judgeReadBack } from './judge-read-back';
import type { ReadBackRequest } from './read-back-queue';
import { RepairHistory } from './repair-history';
import { RepairReporter } from './repair-reporter';

export interface SweepParts {
  readonly context: DaemonContext;
  readonly transactor: Pick<Transactor, 'change'>;
  readonly verdicts: VerdictStore;
  readonly diagnosis: DriftDiagnosis;
}

export interface SweepOptions {
  /** Another writer has just written these containers' cgroups. */
  readonly written?: boolean;
  /** Containers of which threads are read. */
  readonly sampled?: ReadonlySet<string>;
}

/**
 * Reads containers, repairs what drifted, and records a verdict on each. An exception in the work for one container
 * ends nothing else.
 */
export class Sweep {
  private readonly repairs = new RepairHistory();
  private readonly observer: ContainerObserver;
  private readonly reporter: RepairReporter;
  private readonly lost: LostCgroups;
  private readonly context: DaemonContext;

  constructor(private readonly parts: SweepParts) {
    this.context = parts.context;
    this.lost = new LostCgroups(parts.context);
    this.observer = new ContainerObserver(parts.context.cgroups, parts.context.faults);
    this.reporter = new RepairReporter(parts.context);
  }

  run(containerIds: readonly string[], { written = false, sampled }: SweepOptions = {}): void {
    const { model, signal, faults } = this.context;
    if (signal.aborted) return;
    const nowMs = performance.now();
    const containers = containerIds.flatMap((id) => model.allContainers.get(id) ?? []);
    const readById = new Map(containers.map((container) => [container.id, container]));
    const observations = this.observe(containers, sampled);
    const { repairs } = this;
    const policy = driftPolicy({ faults, diagnosis: this.parts.diagnosis, repairs, nowMs, written });
    const judged = this.judgeAll(observations, policy);
    for (const each of judged)
      faults.contain(
        'keeping the verdict on',
        () => this.keep(each, readById.get(each.containerId)!, observations.get(each.containerId)!, nowMs),
        each.containerId,
      );
    this.verifyRepairs(judged, this.writeQuotas(judged));
  }

  /**
   * Judges containers after a change. Returns the number of containers that were read, and those that need a whole
   * sweep.
   */
  readBack(requests: readonly ReadBackRequest[]): { readonly read: number; readonly unsettled: readonly string[] } {
    const { model, faults } = this.context;
    const { verdicts } = this.parts;
    const containers = requests.flatMap(({ containerId, always }) => {
      const container = model.allContainers.get(containerId);
      return container && hasCgroup(container) && (always || isOutdated(model, container, verdicts.get(containerId)))
        ? [container]
        : [];
    });
    const nowMs = performance.now();
    const unsettled = [...this.observe(containers)].flatMap(([id, observation]) => {
      const container = model.allContainers.get(id)!;
      const isSettled = faults.contain('judging', () => this.judgeAsRead(container, observation, nowMs), id);
      return isSettled === true ? [] : [id];
    });
    return { read: containers.length, unsettled };
  }

  /** Time at which the next repair that waits is due; undefined when none waits. */
  get nextDueMs(): number | undefined {
    return this.repairs.nextDueMs;
  }

  /** Containers whose repair is due. Each is returned once. */
  takeDue(nowMs: number): string[] {
    return this.repairs.takeDue(nowMs);
  }

  /** Chooses the containers whose threads are read now. */
  chooseSampled(containerIds: readonly string[]): ReadonlySet<string> {
    return this.observer.chooseSampled(containerIds);
  }

  /** Forgets containers that are gone. */
  keepOnly(containers: ReadonlyMap<string, Container>): void {
    this.repairs.keepOnly(containers);
    this.reporter.keepOnly(containers);
    this.lost.keepOnly(containers);
  }

  private observe(containers: readonly Container[], sampled?: ReadonlySet<string>): Map<string, Observation> {
    const before = (id: string) => this.parts.verdicts.get(id)?.observation;
    return this.observer.observe(containers, { before, ...(sampled && { sampled }) });
  }

  /** Returns false, and does nothing, when more is to be done than to record a verdict. */
  private judgeAsRead(container: Container, observation: Observation, nowMs: number): boolean {
    const judged = judgeReadBack(this.context.model, container, observation);
    if (!judged) return false;
    const { verdict, isUnapplied } = judged;
    this.record(container, verdict, observation);
    if (!isUnapplied && observation.kind === 'seen')
      this.noteDrift({ containerId: container.id, verdict }, observation, nowMs);
    return true;
  }

  /**
   * Judges all in one change. When that throws nothing of it remains, and each container is judged in a change of its
   * own.
   */
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

  private keep(judged: Judged, asRead: Container, observation: Observation, nowMs: number): void {
    const { verdict, drift } = judged;
    const before = this.record(asRead, verdict, observation);
    if (observation.kind === 'seen') this.noteDrift(judged, observation, nowMs);
    if (drift && (drift.action === 'repair' || before?.verdict.kind !== 'drifted'))
      this.context.events.emit('drifted', { ...drift, containerId: judged.containerId });
  }

  /** `asRead`: the container as it was when its cgroup was read. */
  private record(asRead: Container, verdict: Verdict, observation: Observation) {
    const { model, now } = this.context;
    this.lost.note(asRead, verdict, observation);
    return this.parts.verdicts.record(asRead.id, { verdict, observation, basis: basisOf(model, asRead) }, now());
  }

  /**
   * Raises or clears the alarm about repairs that are undone again and again, and ends the history of a container that
   * has not drifted.
   */
  private noteDrift({ containerId, verdict, drift }: Judged, seen: Seen, nowMs: number): void {
    const { alarms, model } = this.context;
    if (verdict.kind === 'unknown') return;
    const container = model.allContainers.get(containerId);
    const names = container && namesIn(model, container);
    if (drift?.action === 'stop') alarms.raise('repairs-stopped', containerId, verdict.because, names);
    else if (drift?.action !== 'wait') alarms.clear('repairs-stopped', containerId);
    if (drift) return;
    this.repairs.settle(containerId, nowMs);
    if (this.reporter.isDelegated(containerId) && hasAsPromised(container?.promise, seen))
      this.reporter.reportSuccess(containerId);
  }

  /** Returns the containers whose quotas were written. */
  private writeQuotas(judged: readonly Judged[]): string[] {
    const { cgroups, faults } = this.context;
    const written = (containerId: string, step: QuotaStep): boolean =>
      faults.contain('writing the quota of', () => cgroups.writeQuota(step), containerId) === true;
    return judged.flatMap(({ containerId, quotas = [] }) =>
      quotas.filter((step) => written(containerId, step)).length > 0 ? [containerId] : [],
    );
  }

  /** After a repair the verdict is given on a new reading of the kernel. */
  private verifyRepairs(judged: readonly Judged[], lifted: readonly string[]): void {
    const { model, faults } = this.context;
    const repaired = new Set(
      judged.flatMap(({ containerId, drift }) => (drift?.action === 'repair' ? [containerId] : [])),
    );
    const ids = [...new Set([...repaired, ...lifted])];
    for (const [id, observation] of this.observe(ids.flatMap((id) => model.allContainers.get(id) ?? [])))
      faults.contain('judging again', () => this.judgeAgain(id, observation, repaired.has(id)), id);
  }

  private judgeAgain(containerId: string, observation: Observation, isRepaired: boolean): void {
    const { model, cgroups } = this.context;
    const { repairs, reporter } = this;
    const container = model.allContainers.get(containerId)!;
    const verdict = judge(model, container, observation);
    // The verdict stays when the runtime does the writing: it has not written yet.
    if (verdict.kind !== 'drifted' || !isRepaired) this.record(container, verdict, observation);
    if (!isRepaired) return;
    const result = checkRepair(container, observation, verdict);
    if (result === 'ok') reporter.reportSuccess(containerId);
    // The outcome is reported once the cgroup can be read, or the runtime has written it.
    if (result === 'unreadable' || result === 'refused') reporter.delegate(containerId);
    if (!cgroups.canWrite) return;
    if (result === 'refused') repairs.noteRefusal(containerId);
    if (result === 'refused' || result === 'undone') reporter.reportFailure(containerId);
  }
}

function unjudged(containerId: string): Judged {
  return { containerId, verdict: { kind: 'unknown', because: 'a fault of cpusetd in judging it; the log says more' } };
}
