import type { CpuSet } from '../../core/cpuset';
import { systemCodeOf } from '../../core/system-errors';
import { explainKubeError, KubeError } from '../../kube';
import { BackOff } from '../../net/back-off';
import { LastProblem } from '../../net/connection-state';
import { EarliestTimer } from '../../net/earliest-timer';
import { pause } from '../../net/pause';
import { addSample, estimateNeed, type EstimateOptions, type UseSample } from '../../qos/reclaim/estimate';
import { lendable, type Lendable } from '../../qos/reclaim/lendable';
import { measureLocalUse, type LocalCpuUse } from '../../qos/reclaim/local-use';
import { predictedNeed, type TimeSeriesPrediction } from '../../qos/reclaim/prediction';
import { reservedShareOf, type ReservedShares } from '../../qos/reclaim/reserved';
import { planPublish, type PublishPlan } from '../../qos/reclaim/plan-publish';
import type { PublishedResources } from '../../qos/reclaim/should-publish';
import type { Metrics } from '../../qos/usage/metrics';
import { explainFsError, type FsOps, type PublishedOnNode } from '../../state';
import type { DaemonContext } from '../context';
import { OWED } from '../owed-effects/owed';
import { OwedNote } from '../owed-effects/owed-note';
import { undoWithin } from '../owed-effects/undo-within';

/** One collection of the state collector. */
export interface CollectedUse {
  readonly metrics: Metrics;
  /** ms since 1970. */
  readonly atMs: number;
  /** The exclusive CPUs at the time of the reading. */
  readonly exclusive: CpuSet;
}

export interface NodeResourcesOptions extends EstimateOptions {
  readonly reserved: ReservedShares;
  readonly lendExclusiveIdle: boolean;
}

/** The part of our Node that decides what it lends, and what is on it. */
export interface NodeReading {
  readonly allocatable: { readonly milliCpu?: number; readonly memoryBytes?: number };
  readonly annotations: Readonly<Record<string, string>>;
  readonly addresses: readonly string[];
  /** The `gocrane.io/…` resources in its status; absent = not there, or not in capacity and allocatable alike. */
  readonly lent: PublishedResources;
  /** The other one of them, which is not to be lent, is in its status too. */
  readonly hasOther?: boolean;
}

export interface NodeResourcesParts {
  readonly context: Pick<DaemonContext, 'alarms' | 'model' | 'faults' | 'events' | 'log'> & {
    readonly config: Pick<DaemonContext['config'], 'stateDir'>;
  };
  /** Absent = the option is off: what an earlier process left is removed. */
  readonly options?: NodeResourcesOptions;
  readonly nodeName: string;
  /** Rejects with KubeError. */
  readonly read: (signal: AbortSignal) => Promise<NodeReading>;
  /** Sets both resources; an absent one is removed. Rejects with KubeError. At the end the daemon's signal is aborted, and this one is not. */
  readonly write: (wanted: PublishedResources, signal: AbortSignal) => Promise<void>;
  /** The resources that pods of this node hold; absent amounts = the pods are not known yet. */
  readonly held: () => PublishedResources;
  /** The object `noderesource-<node>`, as the API server told it last; undefined when there is none. Absent = only what is measured here counts. */
  readonly prediction?: () => TimeSeriesPrediction | undefined;
  /** The clock, in ms since 1970. */
  readonly nowMs?: () => number;
  readonly fs?: FsOps;
}

/** For metrics and status: what could be lent at the last decision, and what is on the Node. */
export interface NodeResourceFigures {
  readonly lendable: Lendable;
  readonly published: PublishedResources;
  /** The reason of what is published, with the figures of the time at which it became the reason; empty before the first decision. */
  readonly because: string;
  /** Writes to the Node that failed. */
  readonly failures: number;
}

/** Between two reads of the Node: a change that others make on it is found within this time. */
const READ_EVERY_MS = 60_000;
/** The longest time without a try while the API server is away, before jitter. */
const MOST_BACK_OFF_MS = 10_000;
/** The pause after an answer that says that we may not. A Node that is not there yet comes when its kubelet registers: it is asked for sooner. */
const FORBIDDEN_MS = 60_000;
/** The longest time that the removal may take at the end. */
export const REMOVE_MS = 5_000;

/**
 * Publishes on the Node what can be lent to pods with `gocrane.io/cpu` and `gocrane.io/memory`. It decides after each collection and, since
 * exclusive CPUs can't be lent any more, at once when these change; only a collection lets an amount grow. One write is under way at a time, and
 * each try writes what is right then.
 */
export class NodeResourcesJob {
  private readonly note: OwedNote<PublishedOnNode>;
  private readonly backOff = new BackOff({ leastMs: 500, mostMs: MOST_BACK_OFF_MS });
  private readonly problem = new LastProblem();
  private poolUse: readonly UseSample[] = [];
  private memoryUse: readonly UseSample[] = [];
  private localCpu: LocalCpuUse | undefined;
  private reading: NodeReading | undefined;
  private refreshing: Promise<void> | undefined;
  private readAtMs = -Infinity;
  /** Writes that were begun. */
  private writes = 0;
  private published: PublishedResources = {};
  /** A write failed: nobody knows what is on the Node. */
  private isUnsure = false;
  private decided: Lendable = {};
  private reason: { readonly of: string; readonly because: string } = { of: '', because: '' };
  private decidedFor: { readonly exclusive: CpuSet; readonly sharedPool: CpuSet } | undefined;
  private mayGrow = false;
  private startedAtMs = Infinity;
  private failures = 0;
  private signal: AbortSignal | undefined;
  private timer: EarliestTimer | undefined;
  private staleTimer: EarliestTimer | undefined;
  private passing: Promise<void> = Promise.resolve();

  constructor(private readonly parts: NodeResourcesParts) {
    const { alarms, log, config } = parts.context;
    const { stateDir } = config;
    this.note = new OwedNote(OWED.lentResources, { stateDir, alarms, log, ...(parts.fs && { fs: parts.fs }) });
  }

  get figures(): NodeResourceFigures {
    const { decided, published, failures } = this;
    return { lendable: decided, published, because: this.reason.because, failures };
  }

  /**
   * Publishes until the signal is aborted, then removes what was published, in `REMOVE_MS` at most. Without the option it only removes what
   * an earlier process left, and tries until that is done. Runs once; never rejects.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { context, options } = this.parts;
    if (options === undefined) return this.removeLeftover(signal);
    // This sets aside what can't be used, before it is replaced.
    context.faults.contain('looking for lent resources', () => this.leaveToOther(this.readNoted()));
    this.startedAtMs = performance.now();
    this.signal = signal;
    this.timer = new EarliestTimer(() => (this.passing = this.pass(signal)), signal);
    this.staleTimer = new EarliestTimer(() => this.touch(), signal);
    this.staleTimer.restartIn(options.maxAgeMs);
    context.events.on('committed', 'following the CPUs that can be lent', () => {
      const { exclusive, sharedPool } = context.model;
      if (this.decidedFor?.exclusive.equals(exclusive) && this.decidedFor.sharedPool.equals(sharedPool)) return;
      this.touch();
    });
    await aborted(signal);
    await this.removeAtEnd();
  }

  /** Takes one collection. Never waits, never throws. */
  onMetrics({ metrics, atMs, exclusive }: CollectedUse): void {
    const { options, context } = this.parts;
    if (options === undefined) return;
    context.faults.contain('measuring what the node needs', () => {
      const { windowMs, maxAgeMs } = options;
      const { cpu, memory } = measureLocalUse(metrics, { exclusiveCpus: exclusive.size, maxAgeMs });
      const isFresh = (at: { readonly atMs: number }): boolean => Math.abs(at.atMs - atMs) <= maxAgeMs;
      if (cpu && isFresh(cpu)) {
        this.localCpu = cpu;
        const value = cpu.poolMilli;
        this.poolUse = addSample(this.poolUse, { atMs: cpu.atMs, value }, windowMs);
      }
      if (memory && isFresh(memory))
        this.memoryUse = addSample(this.memoryUse, { atMs: memory.atMs, value: memory.bytes }, windowMs);
      this.mayGrow = true;
      this.staleTimer?.restartIn(maxAgeMs + 1);
      this.touch();
      if (this.signal) this.refreshNode(this.signal);
    });
  }

  /** Decides now. After a failed write the next try does it. */
  private touch(): void {
    if (!this.problem.isSet) this.timer?.startIn(0);
  }

  private now(): number {
    return (this.parts.nowMs ?? Date.now)();
  }

  private async pass(signal: AbortSignal): Promise<void> {
    const growth = this.mayGrow;
    this.mayGrow = false;
    try {
      if (!this.reading) await this.readNode(signal);
      await this.publish(growth, signal);
      this.backOff.reset();
      if (this.problem.clear()) this.parts.context.log.info('the resources of the Node can be written again');
    } catch (error) {
      this.mayGrow ||= growth;
      if (signal.aborted) return;
      this.notePublishProblem(error);
      this.timer?.restartIn(this.backOff.next(pauseOf(error)));
    }
  }

  private async readNode(signal: AbortSignal): Promise<void> {
    const { writes } = this;
    const reading = await this.parts.read(signal);
    this.readAtMs = performance.now();
    this.reading = reading;
    // What was read beside a write may be from before it.
    if (writes !== this.writes) return;
    this.published = reading.lent;
    // A write removes what is not to be there.
    this.isUnsure = reading.hasOther === true;
  }

  /** Reads the Node again, once in a while. Nothing waits for it: a Node that was read once is good enough to decide by. */
  private refreshNode(signal: AbortSignal): void {
    if (!this.reading || this.refreshing || performance.now() - this.readAtMs < READ_EVERY_MS) return;
    const read = this.readNode(signal).then(
      () => this.touch(),
      (error: unknown) =>
        this.parts.context.log.debug({ because: explainKubeError(error) }, 'the Node can’t be read again'),
    );
    this.refreshing = read.finally(() => {
      this.refreshing = undefined;
    });
  }

  private async publish(growth: boolean, signal: AbortSignal): Promise<void> {
    const { context, nodeName, write } = this.parts;
    const decided = this.decide();
    if (!decided) return;
    const { published } = this;
    const plan = planPublish({ lendable: decided, published, held: this.parts.held(), mayGrow: growth });
    const { wanted } = plan;
    const isAsWanted = wanted.milliCpu === published.milliCpu && wanted.memoryBytes === published.memoryBytes;
    if (!this.isUnsure && isAsWanted) {
      this.noteReason(plan);
      return;
    }
    this.note.save({ nodeName });
    this.isUnsure = true;
    this.writes += 1;
    await write(wanted, signal);
    this.isUnsure = false;
    this.published = wanted;
    this.noteReason(plan);
    context.log.info(
      {
        ...this.published,
        ...(decided.cpu && { cpu: decided.cpu.parts, cpuBecause: plan.cpu?.because }),
        ...(decided.memory && { memory: decided.memory.parts, memoryBecause: plan.memory?.because }),
      },
      'what the node lends has changed',
    );
  }

  /** Figures that change with each measurement do not make another reason: whoever watches the status would be told each time. */
  private noteReason({ wanted, cpu, memory }: PublishPlan): void {
    const reasons = [cpu, memory].filter((each) => each !== undefined);
    const of = JSON.stringify([wanted.milliCpu, wanted.memoryBytes, ...reasons.map(({ lasting }) => lasting)]);
    if (reasons.length === 0 || of === this.reason.of) return;
    this.reason = { of, because: reasons.map(({ because }) => because).join('; ') };
  }

  private decide(): Lendable | undefined {
    const { context, options } = this.parts;
    const { reading } = this;
    if (!options || !reading) return undefined;
    const { exclusive, sharedPool, synchronized } = context.model;
    const nowMs = this.now();
    const { allocatable, annotations, addresses } = reading;
    const names = [this.parts.nodeName, ...addresses];
    const predicted = predictedNeed(this.parts.prediction?.(), names, nowMs);
    // At first, what an earlier process published stays until there is a measurement, or its time is over.
    const isYoung = performance.now() - this.startedAtMs < options.maxAgeMs;
    const decidesCpu = !isYoung || (this.poolUse.length > 0 && synchronized);
    const decidesMemory = !isYoung || this.memoryUse.length > 0;
    const idle = this.localCpu?.exclusiveIdleMilli;
    this.decidedFor = { exclusive, sharedPool };
    this.decided = lendable({
      ...(allocatable.milliCpu !== undefined &&
        decidesCpu && {
          cpu: {
            allocatableMilli: allocatable.milliCpu,
            reserved: reservedShareOf('cpu', options.reserved, annotations),
            ...(predicted.milliCpu !== undefined && { predictedMilli: predicted.milliCpu }),
            poolUse: estimateNeed(this.poolUse, options, nowMs),
            exclusiveCpus: exclusive.size,
            ...(synchronized && { sharedPoolCpus: sharedPool.size }),
            ...(idle !== undefined && { exclusiveIdleMilli: idle }),
            lendExclusiveIdle: options.lendExclusiveIdle,
          },
        }),
      ...(allocatable.memoryBytes !== undefined &&
        decidesMemory && {
          memory: {
            allocatableBytes: allocatable.memoryBytes,
            reserved: reservedShareOf('memory', options.reserved, annotations),
            ...(predicted.memoryBytes !== undefined && { predictedBytes: predicted.memoryBytes }),
            use: estimateNeed(this.memoryUse, options, nowMs),
          },
        }),
    });
    return this.decided;
  }

  private notePublishProblem(error: unknown): void {
    const { log } = this.parts.context;
    this.failures += 1;
    const because =
      systemCodeOf(error) === undefined || error instanceof KubeError
        ? explainKubeError(error)
        : explainFsError('save', this.note.path, error);
    if (this.problem.isNew(because)) log.warn({ because }, 'the resources of the Node can’t be written; trying again');
  }

  private async removeAtEnd(): Promise<void> {
    const { log, faults } = this.parts.context;
    await faults.containAsync('removing the resources of the Node', async () => {
      const remove = async (end: AbortSignal): Promise<string | undefined> => {
        try {
          await this.passing;
          await this.removeNoted(end);
          return undefined;
        } catch (error) {
          return explainKubeError(error);
        }
      };
      const because = await undoWithin(REMOVE_MS, remove, 'the API server did not answer in time');
      if (because !== undefined)
        log.warn({ because }, 'the resources of the Node are not removed: the next start goes on with them');
    });
  }

  private async removeNoted(signal: AbortSignal): Promise<void> {
    if (this.readNoted() !== undefined) await this.remove(signal);
  }

  /** Removes the resources of an earlier process, such as one that could not do it at its end. */
  private async removeLeftover(signal: AbortSignal): Promise<void> {
    const { context } = this.parts;
    await context.faults.containAsync('removing the resources of the Node', async () => {
      const noted = this.readNoted();
      if (noted === undefined || this.leaveToOther(noted)) return;
      while (!signal.aborted) {
        try {
          await this.remove(signal);
          return;
        } catch (error) {
          if (signal.aborted) return;
          this.notePublishProblem(error);
          await pause(this.backOff.next(pauseOf(error)), signal);
        }
      }
    });
  }

  /**
   * The name of the Node that this process or an earlier one has published on; undefined for none. Where that can't be known it may be ours: to
   * remove what is not there does no harm.
   */
  private readNoted(): string | undefined {
    const left = this.note.load();
    if (left.kind === 'nothing') return undefined;
    return left.kind === 'known' ? left.value.nodeName : this.parts.nodeName;
  }

  /** True for a note about a Node of another name, which is forgotten: nobody knows whether that Node is still this machine. */
  private leaveToOther(noted: string | undefined): boolean {
    const { context, nodeName } = this.parts;
    if (noted === undefined || noted === nodeName) return false;
    const none = '{"gocrane.io/cpu":null,"gocrane.io/memory":null}';
    const remove = `kubectl patch node ${noted} --subresource=status --type=merge -p '{"status":{"capacity":${none},"allocatable":${none}}}'`;
    context.log.warn(
      { node: noted, remove },
      'resources were published on a Node of another name: they are left there',
    );
    this.note.forget();
    return true;
  }

  private async remove(signal: AbortSignal): Promise<void> {
    await this.parts.write({}, signal);
    this.published = {};
    this.note.forget();
    this.parts.context.log.info('the node lends nothing any more: its resources are removed');
  }
}

/** The shortest pause before the next try. What needs an operator is not tried as often as what passes. */
function pauseOf(error: unknown): number {
  if (!(error instanceof KubeError)) return 0;
  return Math.max(error.retryAfterMs ?? 0, [401, 403].includes(error.status) ? FORBIDDEN_MS : 0);
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
