import type { SchedulingDecision } from '../../qos/analysis/scheduling';
import { messageOf } from '../alarms/faults';
import { LEFT_ALONE_MS } from './left-alone';
import type { StepParts } from './step-parts';

/** The Node in the API server, as far as its taint. */
export interface TaintedNode {
  /** True when the Node has the taint, by the last news of the API server; undefined while it is not known. */
  readonly isMarked?: () => boolean | undefined;
  /**
   * Sets or removes the taint and the condition that keep new pods away. Rejects when the API server did not take it.
   */
  mark(isDisabled: boolean, because: string): Promise<void>;
}

export interface NodeTaintParts extends StepParts {
  readonly node: TaintedNode;
}

/** The reason for the taint, and the time since which the Node has it. */
export interface Disabled {
  readonly because: string;
  readonly sinceMs: number;
}

/** Keeps new pods away by the taint of the Node. Its changes are made one after the other. */
export class NodeTaint {
  /** Undefined while the Node has no taint, as far as is known. */
  private marked: Disabled | undefined;
  /** Time of the last write of the taint, of the monotonic clock. */
  private markedAtMs = -Infinity;
  private changing: Promise<void> = Promise.resolve();
  private problem: string | undefined;

  constructor(private readonly parts: NodeTaintParts) {}

  /** Takes up the taint of an earlier process, which the note has. */
  takeUp(): void {
    if (this.parts.note.tainted)
      this.marked = { because: 'an earlier process of cpusetd has set the taint', sinceMs: this.parts.nowMs() };
  }

  /** Undefined while new pods may come. */
  get disabled(): Disabled | undefined {
    return this.parts.note.tainted ? this.marked : undefined;
  }

  /** The reason for which the taint can't be removed now; undefined = there is none. */
  get whyNotRemoved(): string | undefined {
    return this.problem;
  }

  /** Keeps new pods away, or lets them come again. `actionsLeft`: the rest of the budget. */
  follow({ disabled, because }: SchedulingDecision, actionsLeft: number): Promise<void> {
    return this.inTurn(() => (disabled ? this.set(because, actionsLeft) : this.unset(because)));
  }

  remove(because: string): Promise<void> {
    return this.inTurn(() => this.unset(because));
  }

  private async set(because: string, actionsLeft: number): Promise<void> {
    const { note, node, gate, saves, nowMs, elapsedMs } = this.parts;
    if (!gate.mayAct) return;
    this.problem = undefined;
    if (note.tainted && this.marked && !this.isLost) return;
    if (!note.tainted) {
      if (actionsLeft < 1) {
        this.record('disable-scheduling', 'failed', 'the budget of the hour is spent');
        return;
      }
      if (!saves.save(() => note.saveTaint(true, { namespaces: [''], nowMs: nowMs() }))) return;
    }
    try {
      await node.mark(true, because);
      this.markedAtMs = elapsedMs();
      this.record('disable-scheduling', 'done', this.marked ? `someone else removed it: ${because}` : because);
      this.marked ??= { because, sinceMs: nowMs() };
    } catch (error) {
      this.record('disable-scheduling', 'failed', messageOf(error));
    }
  }

  /**
   * Someone else removed the taint. News of the Node may be late, and two programs must not fight: it is set again once
   * a minute at most.
   */
  private get isLost(): boolean {
    const { node, elapsedMs } = this.parts;
    return node.isMarked?.() === false && elapsedMs() - this.markedAtMs >= LEFT_ALONE_MS;
  }

  private async unset(because: string): Promise<void> {
    const { note, node, gate, saves, nowMs } = this.parts;
    this.problem = undefined;
    if (!note.tainted || !gate.mayUndo) return;
    try {
      await node.mark(false, because);
    } catch (error) {
      this.problem = `the taint of the Node can't be removed: ${messageOf(error)}`;
      this.record('enable-scheduling', 'failed', messageOf(error));
      return;
    }
    this.marked = undefined;
    if (saves.save(() => note.saveTaint(false, { namespaces: [], nowMs: nowMs() })))
      this.record('enable-scheduling', 'done', because);
  }

  private record(
    action: 'disable-scheduling' | 'enable-scheduling',
    outcome: 'done' | 'failed',
    because: string,
  ): void {
    this.parts.log.note({ action, subject: 'node', outcome, because });
  }

  private inTurn(change: () => Promise<void>): Promise<void> {
    const changing = this.changing.then(change);
    this.changing = changing.catch(() => undefined);
    return changing;
  }
}
