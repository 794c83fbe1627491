import type { QosStatus } from '../../admin/model/qos-status';
import type { AvoidanceEvent } from '../../qos/analysis/finding';
import { optionsWithinBudget } from '../../qos/avoidance/budget';
import type { AvoidanceOptions } from '../../qos/avoidance/situation';
import {
  afterCollection,
  afterFirstUndo,
  afterRound,
  beginRound,
  delayStart,
  endPhase,
  FIRST_PHASE,
  stopRules,
} from '../../qos/phases/phase';
import { planLook, type LookStep } from '../../qos/phases/plan-look';
import { planRound } from '../../qos/phases/plan-round';
import type { ObjectsOfNode } from '../../qos/objects/objects-of-node';
import { dropStale } from '../../qos/usage/drop-stale';
import type { Metrics } from '../../qos/usage/metrics';
import { pause } from '../../net/pause';
import type { DaemonContext } from '../context';
import { undoWithin } from '../owed-effects/undo-within';
import { ActionExecutor, type ActionExecutorParts } from './action-executor';
import { ActionLog, type ActionLogParts } from './action-log';
import { toQosStatus } from './avoidance-status';
import { findUnknownThrottles } from './find-unknown-throttles';
import { RuleRounds } from './rule-rounds';
import type { Collected } from './state-collector';
import { StepGate } from './step-gate';
import { UndoAttempts } from './undo-attempts';

export interface AvoidanceParts
  extends Pick<ActionExecutorParts, 'note' | 'quotas' | 'node'>, Pick<ActionLogParts, 'writePodEvent' | 'count'> {
  readonly context: Pick<DaemonContext, 'config' | 'model' | 'alarms' | 'faults' | 'events' | 'log'>;
  readonly objects: () => ObjectsOfNode;
  /** Writes an Event about the Node. */
  readonly writeEvent: (event: AvoidanceEvent) => void;
  /** The clock, in ms since 1970. */
  readonly nowMs?: () => number;
  /** The monotonic clock, in ms. */
  readonly elapsedMs?: () => number;
}

/** Metrics that are older than this number of collections are not used. */
export const STALE_AFTER = 3;
/** Time between two looks at whether there is something to undo. */
const LOOK_MS = 1_000;
/** Longest time that the end of the daemon waits for what is undone. */
const LAST_UNDO_MS = 8_000;

type Options = Pick<
  DaemonContext['config'],
  'qosActions' | 'qosActionsPerHour' | 'qosEvictionsPerHour' | 'executeExcess'
>;

/**
 * Follows the rules of NodeQOS objects: analyzes each collection, and takes actions, or records what they would be. It
 * undoes all of them when the option says so, when there is no news of the node or of the API server for long, at the
 * end, and what a killed process left. `qos/phases` decides which of it is next.
 */
export class Avoidance {
  private readonly gate = new StepGate();
  private readonly lateMs: number;
  private readonly nowMs: () => number;
  private readonly elapsedMs: () => number;
  private readonly log: ActionLog;
  private readonly executor: ActionExecutor;
  private readonly rounds: RuleRounds;
  private readonly undoing: UndoAttempts;
  private options: Options;
  private phase = FIRST_PHASE;
  private turn: Promise<void> = Promise.resolve();

  constructor(private readonly parts: AvoidanceParts) {
    const { context, note, quotas, node, objects, writeEvent, writePodEvent, count } = parts;
    const { nowMs = Date.now, elapsedMs = () => performance.now() } = parts;
    const { config, events } = context;
    const { gate } = this;
    this.nowMs = nowMs;
    this.elapsedMs = elapsedMs;
    this.lateMs = STALE_AFTER * (config.collectIntervalMs ?? LOOK_MS);
    this.options = config;
    const log = (this.log = new ActionLog({ context, writePodEvent, count, nowMs }));
    const executor = new ActionExecutor({ context, note, quotas, node, log, gate, nowMs, elapsedMs });
    this.executor = executor;
    this.undoing = new UndoAttempts({ context, note, quotas, objects, executor, nowMs, elapsedMs });
    this.rounds = new RuleRounds({
      context,
      note,
      executor,
      gate,
      log,
      writeEvent,
      nowMs,
      lostAfterRounds: STALE_AFTER,
      options: () => this.planOptions,
    });
    events.on('optionsChanged', 'following qos-actions', (changed) => this.follow(changed));
  }

  /** For status and the page. */
  get status(): QosStatus {
    return toQosStatus({
      mode: this.options.qosActions,
      phase: this.phase,
      findings: this.rounds.findings,
      disabled: this.executor.schedulingDisabled,
      throttles: this.parts.note.throttles,
      recent: this.log.recent,
      options: this.planOptions,
    });
  }

  /** Runs until the signal is aborted, then undoes all that is in force, as far as it can be done in some seconds. */
  async run(signal: AbortSignal): Promise<void> {
    const ended = new Promise<void>((resolve) => {
      const end = (): void => {
        this.phase = endPhase(this.phase);
        this.gate.interrupt();
        resolve();
      };
      if (signal.aborted) end();
      else signal.addEventListener('abort', end, { once: true });
    });
    while (!signal.aborted) {
      // A look that hangs does not delay the end.
      await Promise.race([this.inTurn(() => this.look(), 'looking for QoS actions to undo'), ended]);
      await pause(LOOK_MS, signal);
    }
    const undo = (): Promise<void> =>
      this.inTurn(async () => {
        await this.executor.undo('cpusetd ends', findUnknownThrottles(this.parts));
      });
    await undoWithin(LAST_UNDO_MS, () => undo().then(() => undefined), 'it took too long');
    this.gate.close();
    const { note, context } = this.parts;
    if (note.isInForce)
      context.log.warn(
        { throttled: note.throttles.length, tainted: note.tainted, path: note.path },
        'QoS actions are still in force: the next start undoes them',
      );
  }

  /** Takes a collection in: analyzes it, and acts. */
  take({ metrics }: Collected): Promise<void> {
    const collectedMs = this.elapsedMs();
    this.phase = afterCollection(this.phase, collectedMs);
    return this.inTurn(() => this.round(metrics, collectedMs));
  }

  /** Takes changed options. Everything but `enforce` interrupts the round under way, and undoes everything. */
  private follow(changed: Options): void {
    const { qosActions: before } = this.options;
    const { qosActions: mode } = changed;
    this.options = changed;
    if (mode === before) return;
    if (mode === 'enforce') {
      if (this.phase.kind !== 'ending') this.gate.resume();
      return;
    }
    this.gate.interrupt();
    this.inTurn(() => this.stop(`qos-actions is ${mode}`, true)).catch(() => undefined); // it never rejects
  }

  private async round(metrics: Metrics, collectedMs: number): Promise<void> {
    const { context, note, objects } = this.parts;
    const step = planRound(this.phase, {
      mode: this.options.qosActions,
      isSynchronized: context.model.synchronized,
      objects,
      whyNoAction: () => note.whyNoAction,
      lost: () => findUnknownThrottles(this.parts),
    });
    if (step.kind === 'skip') return;
    if (step.kind === 'stop') return this.stop(step.because);
    this.phase = beginRound(this.phase, step.kind, this.elapsedMs(), collectedMs);
    const fresh = dropStale(metrics, this.nowMs(), this.lateMs);
    const round = this.rounds.analyze(step.objects, fresh, step.kind === 'preview');
    if (step.kind === 'enforce') await this.rounds.enforce(round, step.lost);
    else {
      this.rounds.preview(round);
      if (this.undoing.isDue) await this.undoing.undo('qos-actions is preview');
    }
    this.phase = afterRound(this.phase, this.elapsedMs());
  }

  /** The options of a plan, with the rest of the hour's budget. */
  private get planOptions(): AvoidanceOptions {
    return optionsWithinBudget(this.options, this.parts.note.spent(this.nowMs()));
  }

  /**
   * Undoes what an earlier process left, everything when nothing was measured for long, and what could not be undone
   * before.
   */
  private async look(): Promise<void> {
    const { note } = this.parts;
    note.look();
    if (this.phase.kind !== 'starting') note.tidy(this.nowMs());
    await this.carryOut(
      planLook(this.phase, {
        mode: this.options.qosActions,
        nowMs: this.elapsedMs(),
        lateMs: this.lateMs,
        isInForce: note.isInForce,
        owesUnknown: note.owesUnknown,
        isUndoDue: this.undoing.isDue,
      }),
    );
  }

  private async carryOut(step: LookStep): Promise<void> {
    switch (step.kind) {
      case 'nothing':
        return;
      case 'start':
        return this.start();
      case 'stop':
        return this.stop(step.because);
      case 'undo':
        await this.undoing.undo(step.because);
        return;
      case 'undo-unknown':
        return this.undoing.undoUnknown();
    }
  }

  /** Undoes what an earlier process left. */
  private async start(): Promise<void> {
    const { undoing } = this;
    const problem = undoing.load();
    if (problem !== undefined) {
      this.phase = delayStart(this.phase, problem);
      return;
    }
    const isDone = await undoing.undo('cpusetd has started again');
    const { areOnlyQuotasLeft, whyNotUndone } = undoing;
    const mode = this.options.qosActions;
    this.phase = afterFirstUndo(this.phase, { mode, isDone, areOnlyQuotasLeft, whyNotUndone });
  }

  /**
   * Undoes everything, and forgets how often rules have fired. `isUrgent`: what could not be undone before is tried
   * again at once.
   */
  private async stop(because: string, isUrgent = this.phase.kind === 'acting'): Promise<void> {
    this.phase = stopRules(this.phase, because);
    this.rounds.forget();
    if (isUrgent) this.undoing.beginAnew();
    if (isUrgent || this.undoing.isDue) await this.undoing.undo(because);
  }

  /** One after the other; a failure is a fault, and the next one is done all the same. */
  private inTurn(work: () => Promise<void>, part = 'taking QoS actions'): Promise<void> {
    const { faults } = this.parts.context;
    this.turn = this.turn.then(() => faults.containAsync(part, work));
    return this.turn;
  }
}
