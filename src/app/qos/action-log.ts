import type { QosActionName, QosOutcome } from '../../admin/metrics/qos-metrics';
import type { QosActionRecord } from '../../admin/model/qos-status';
import type { SchedulingDecision } from '../../qos/analysis/scheduling';
import { noticeBudget, noticePreview, type Given, type Notice } from '../../qos/avoidance/notices';
import type { AvoidancePlan } from '../../qos/avoidance/plan';
import type { PodActionEvent } from '../../qos/avoidance/pod-event';
import type { DaemonContext } from '../context';

export interface ActionLogParts {
  readonly context: Pick<DaemonContext, 'events' | 'log'>;
  /** Writes an Event about the pod that an action hits, for its owner. */
  readonly writePodEvent: (event: PodActionEvent) => void;
  readonly count: (action: QosActionName, outcome: QosOutcome) => void;
  /** The clock, in ms since 1970. */
  readonly nowMs: () => number;
}

/** An action, and its result. */
export interface ActionResult {
  readonly action: QosActionName;
  /** The node, or namespace/pod/container. */
  readonly subject: string;
  readonly outcome: 'done' | 'failed';
  readonly because: string;
  readonly podEvent?: PodActionEvent | undefined;
}

const MAX_RECENT = 50;
/** Maximum number of failures that are kept in mind, so that each is logged once. */
const MAX_FAILURES = 2_000;
const NONE: Given = new Set();

/**
 * Records actions: counts them, writes Events about pods and lines of the log, and keeps the last ones for the status.
 */
export class ActionLog {
  private records: readonly QosActionRecord[] = [];
  /** The last failure of each action and subject. */
  private readonly failures = new Map<string, string>();
  private previewed = NONE;
  private outOfBudget = NONE;

  constructor(private readonly parts: ActionLogParts) {}

  /** The last ones, the newest first. */
  get recent(): readonly QosActionRecord[] {
    return this.records;
  }

  /** Records a result. A failure that repeats the last one of its subject is only counted. */
  note({ podEvent, ...result }: ActionResult): void {
    const { action, subject, outcome, because } = result;
    const isNews = this.noteFailure(`${action} ${subject}`, outcome === 'failed' ? because : undefined);
    if (isNews)
      this.parts.context.log[outcome === 'done' ? 'info' : 'warn'](
        { action, subject, because },
        `QoS action ${outcome}`,
      );
    this.parts.count(action, outcome);
    if (podEvent) this.parts.writePodEvent(podEvent);
    if (isNews) this.show(result);
  }

  /** Records what would be done, once as long as it would. */
  notePreview(plan: AvoidancePlan, scheduling: SchedulingDecision, isPreview: boolean): void {
    const { fresh, given } = noticePreview(this.previewed, plan, scheduling, isPreview);
    this.previewed = given;
    for (const notice of fresh) this.noteUndone(notice, 'preview');
  }

  /** Records what the budget of the hour leaves undone, once as long as it does. */
  noteBudget(plan: AvoidancePlan): void {
    const { fresh, given } = noticeBudget(this.outOfBudget, plan);
    this.outOfBudget = given;
    for (const notice of fresh) this.noteUndone(notice, 'failed');
  }

  /** Rules are not followed any more: what they would do is news when they are followed again. */
  forgetNotices(): void {
    this.previewed = NONE;
    this.outOfBudget = NONE;
  }

  /** False for a failure that repeats the last one of this key. */
  private noteFailure(key: string, failure: string | undefined): boolean {
    const isNews = failure === undefined || this.failures.get(key) !== failure;
    this.failures.delete(key);
    if (failure !== undefined) this.failures.set(key, failure);
    const [oldest] = this.failures.size > MAX_FAILURES ? this.failures.keys() : [];
    if (oldest !== undefined) this.failures.delete(oldest);
    return isNews;
  }

  private noteUndone(notice: Notice, outcome: QosOutcome): void {
    this.parts.count(notice.action, outcome);
    this.show({ ...notice, outcome });
  }

  private show({ action, subject, outcome, because }: Omit<QosActionRecord, 'at'>): void {
    const at = new Date(this.parts.nowMs()).toISOString();
    this.records = [{ at, action, subject, outcome, because }, ...this.records].slice(0, MAX_RECENT);
    this.parts.context.events.emit('changed');
  }
}
