import type { CpuSet } from '../../core/cpuset';
import { systemCodeOf } from '../../core/system-errors';
import { explainKubeError, KubeError } from '../../kube';
import { BackOff } from '../../net/back-off';
import { LastProblem } from '../../net/connection-state';
import { EarliestTimer } from '../../net/earliest-timer';
import { pause } from '../../net/pause';
import { decideLendable, type LendingOptions } from '../../qos/reclaim/decide-lendable';
import type { Lendable } from '../../qos/reclaim/lendable';
import { planPublish, type PublishPlan } from '../../qos/reclaim/plan-publish';
import type { TimeSeriesPrediction } from '../../qos/reclaim/prediction';
import type { PublishedResources } from '../../qos/reclaim/should-publish';
import { addUse, NO_USE } from '../../qos/reclaim/use-history';
import type { Metrics } from '../../qos/usage/metrics';
import { explainFsError } from '../../files/durable-write';
import type { FsOps } from '../../files/fs-ops';
import type { DaemonContext } from '../context';
import { undoWithin } from '../owed-effects/undo-within';
import { LentResources, type LentResourcesParts } from './lent-resources';
import { LentResourcesNote } from './lent-resources-note';

/** One collection of the state collector. */
export interface CollectedUse {
  readonly metrics: Metrics;
  /** ms since 1970. */
  readonly atMs: number;
  /** The exclusive CPUs at the time of the reading. */
  readonly exclusive: CpuSet;
}

export interface NodeResourcesParts extends Pick<LentResourcesParts, 'read' | 'write'> {
  readonly context: Pick<DaemonContext, 'alarms' | 'model' | 'faults' | 'events' | 'log'> & {
    readonly config: Pick<DaemonContext['config'], 'stateDir'>;
  };
  /** Absent = the option is off: what an earlier process left is removed. */
  readonly options?: LendingOptions;
  readonly nodeName: string;
  /** The resources that pods of this node hold; absent amounts = the pods are not known yet. */
  readonly held: () => PublishedResources;
  /**
   * The object `noderesource-<node>`, by the last news of the API server; undefined when there is none. Absent = only
   * measurements count.
   */
  readonly prediction?: () => TimeSeriesPrediction | undefined;
  /** The clock, in ms since 1970. */
  readonly nowMs?: () => number;
  readonly fs?: FsOps;
}

/** For metrics and status: what could be lent at the last decision, and what is on the Node. */
export interface NodeResourceFigures {
  readonly lendable: Lendable;
  readonly published: PublishedResources;
  /**
   * The reason of what is published, with the figures of the time at which it became the reason; empty before the first
   * decision.
   */
  readonly because: string;
  /** Number of writes to the Node that failed. */
  readonly failures: number;
}

/** The timers of a job that publishes. */
interface Running {
  readonly signal: AbortSignal;
  readonly startedAtMs: number;
  /** Fires when it is to be decided and published. */
  readonly due: EarliestTimer;
  /** Fires when the last measurement is too old. */
  readonly stale: EarliestTimer;
}

/** The longest time without a try while the API server is away, before jitter. */
const MOST_BACK_OFF_MS = 10_000;
/**
 * The pause after an answer that says that we may not. A Node that is not there yet comes when its kubelet registers:
 * it is asked for sooner.
 */
const FORBIDDEN_MS = 60_000;
/** The longest time that the removal may take at the end. */
export const REMOVE_MS = 5_000;

/**
 * Publishes on the Node what can be lent to pods with `gocrane.io/cpu` and `gocrane.io/memory`. It decides after each
 * collection and, since exclusive CPUs can't be lent any more, at once when these change; only a collection lets an
 * amount grow. One write is under way at a time, and each try writes what is right then.
 */
export class NodeResourcesJob {
  private readonly note: LentResourcesNote;
  private readonly node: LentResources;
  private readonly backOff = new BackOff({ leastMs: 500, mostMs: MOST_BACK_OFF_MS });
  private readonly problem = new LastProblem();
  private history = NO_USE;
  /** There was a measurement since amounts could grow. */
  private mayGrow = false;
  /** The last decision, and the CPUs that it was for. */
  private decided: { readonly lendable: Lendable; readonly exclusive: CpuSet; readonly sharedPool: CpuSet } | undefined;
  private reason: { readonly key: string; readonly because: string } = { key: '', because: '' };
  private failures = 0;
  private running: Running | undefined;
  private passing: Promise<void> = Promise.resolve();

  constructor(private readonly parts: NodeResourcesParts) {
    this.note = new LentResourcesNote(parts);
    this.node = new LentResources(parts);
  }

  get figures(): NodeResourceFigures {
    const { decided, node, failures, reason } = this;
    return { lendable: decided?.lendable ?? {}, published: node.published, because: reason.because, failures };
  }

  /**
   * Publishes until the signal is aborted, then removes what was published, in `REMOVE_MS` at most. Without the option
   * it only removes what an earlier process left, and tries until that is done. Runs once; never rejects.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { context, options } = this.parts;
    if (options === undefined) return this.removeLeftover(signal);
    // This sets aside what can't be used, before it is replaced.
    context.faults.contain('looking for lent resources', () => this.note.isOwed());
    const due = new EarliestTimer(() => (this.passing = this.pass(signal, options)), signal);
    const stale = new EarliestTimer(() => this.touch(), signal);
    stale.restartIn(options.maxAgeMs);
    this.running = { signal, startedAtMs: performance.now(), due, stale };
    context.events.on('committed', 'following the CPUs that can be lent', () => {
      const { exclusive, sharedPool } = context.model;
      if (this.decided?.exclusive.equals(exclusive) && this.decided.sharedPool.equals(sharedPool)) return;
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
      this.history = addUse(this.history, { metrics, atMs, exclusiveCpus: exclusive.size }, options);
      this.mayGrow = true;
      this.running?.stale.restartIn(options.maxAgeMs + 1);
      this.touch();
      if (this.running) this.node.refresh(this.running.signal, () => this.touch());
    });
  }

  /** Decides now. After a failed write the next try does it. */
  private touch(): void {
    if (!this.problem.isSet) this.running?.due.startIn(0);
  }

  private async pass(signal: AbortSignal, options: LendingOptions): Promise<void> {
    const growth = this.mayGrow;
    this.mayGrow = false;
    try {
      if (!this.node.latest) await this.node.read(signal);
      await this.publish(growth, signal, options);
      this.backOff.reset();
      if (this.problem.clear()) this.parts.context.log.info('the resources of the Node can be written again');
    } catch (error) {
      this.mayGrow ||= growth;
      if (signal.aborted) return;
      this.notePublishProblem(error);
      this.running?.due.restartIn(this.backOff.next(pauseOf(error)));
    }
  }

  private async publish(growth: boolean, signal: AbortSignal, options: LendingOptions): Promise<void> {
    const { node, note } = this;
    const decided = this.decide(options);
    if (!decided) return;
    const { published } = node;
    const plan = planPublish({ lendable: decided, published, held: this.parts.held(), mayGrow: growth });
    const { wanted } = plan;
    if (node.has(wanted)) {
      this.noteReason(plan);
      return;
    }
    note.save();
    await node.write(wanted, signal);
    this.noteReason(plan);
    this.parts.context.log.info(
      {
        ...wanted,
        ...(decided.cpu && { cpu: decided.cpu.parts, cpuBecause: plan.cpu?.because }),
        ...(decided.memory && { memory: decided.memory.parts, memoryBecause: plan.memory?.because }),
      },
      'what the node lends has changed',
    );
  }

  /**
   * Figures that change with each measurement do not make another reason: whoever watches the status would get it each
   * time.
   */
  private noteReason({ wanted, cpu, memory }: PublishPlan): void {
    const reasons = [cpu, memory].filter((each) => each !== undefined);
    const key = JSON.stringify([wanted.milliCpu, wanted.memoryBytes, ...reasons.map(({ lasting }) => lasting)]);
    if (reasons.length === 0 || key === this.reason.key) return;
    this.reason = { key, because: reasons.map(({ because }) => because).join('; ') };
  }

  private decide(options: LendingOptions): Lendable | undefined {
    const { context, nodeName, prediction, nowMs = Date.now } = this.parts;
    const { latest } = this.node;
    if (!latest || !this.running) return undefined;
    const { exclusive, sharedPool, synchronized } = context.model;
    const { allocatable, annotations, addresses } = latest;
    const facts = {
      allocatable,
      annotations,
      names: [nodeName, ...addresses],
      prediction: prediction?.(),
      exclusiveCpus: exclusive.size,
      ...(synchronized && { sharedPoolCpus: sharedPool.size }),
      isYoung: performance.now() - this.running.startedAtMs < options.maxAgeMs,
      nowMs: nowMs(),
    };
    const lendable = decideLendable(this.history, facts, options);
    this.decided = { lendable, exclusive, sharedPool };
    return lendable;
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
          if (this.note.isOwed()) await this.remove(end);
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

  /** Removes the resources of an earlier process, such as one that could not do it at its end. */
  private async removeLeftover(signal: AbortSignal): Promise<void> {
    await this.parts.context.faults.containAsync('removing the resources of the Node', async () => {
      if (!this.note.isOwed()) return;
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

  private async remove(signal: AbortSignal): Promise<void> {
    await this.node.write({}, signal);
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
