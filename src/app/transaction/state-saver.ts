import type { Logger } from 'pino';
import type { NodeView } from '../../core/model/node-view';
import { messageOf } from '../alarms/faults';
import type { ToRemember } from './assignment-store';
import { aside } from './carry-out';
import type { SaveProblem, TransactionObserver } from './transaction';

export interface StateSaverParts {
  readonly model: NodeView;
  /** Undefined when durable; else why not. */
  readonly save: (remembered: ToRemember) => SaveProblem | undefined;
  readonly log: Logger;
  readonly observer?: TransactionObserver;
}

/** Saves the model, and remembers what is still to be saved. Never throws. */
export class StateSaver {
  private isDiskBehind = false;
  private hasFailed = false;

  constructor(private readonly parts: StateSaverParts) {}

  /** True when the model has something that the disk may not have. */
  get isBehind(): boolean {
    return this.isDiskBehind;
  }

  /** The model keeps a change that was not saved. */
  markBehind(): void {
    this.isDiskBehind = true;
  }

  /** Returns why it failed, or undefined. */
  save(): SaveProblem | undefined {
    const { observer, log } = this.parts;
    const startMs = performance.now();
    const problem = this.write();
    if (observer?.onSaved) aside(log, () => observer.onSaved?.(performance.now() - startMs, problem));
    this.hasFailed = problem !== undefined;
    if (!problem) this.isDiskBehind = false;
    else aside(log, () => log.error({ because: problem.because }, 'state could not be saved'));
    return problem;
  }

  /**
   * Saves after a save that failed, also where nothing is left to write: so it is known when the disk takes state
   * again.
   */
  retry(): void {
    if (this.isDiskBehind || this.hasFailed) this.save();
  }

  private write(): SaveProblem | undefined {
    const { model, save } = this.parts;
    try {
      const { assignments, keptSpecs, brought, podLevel } = model;
      return save({
        assignments: assignments.values(),
        pods: keptSpecs.values(),
        brought: brought.values(),
        podLevel: podLevel.values(),
      });
    } catch (error) {
      return { because: `a fault in saving: ${messageOf(error)}`, onDisk: 'unknown' };
    }
  }
}
