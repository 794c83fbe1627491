import type { Logger } from 'pino';
import type { NodeEvent, RuntimeAnswer } from '../../core/model/events';
import type { NodeModel } from '../../core/model/node-model';
import type { Move } from '../../core/plan/plan-moves';
import { answerTo, Draft, handle, planTogether, type LiveCpusets, type Outcome } from '../../core/transition';
import { logFault } from '../alarms/faults';

/**
 * Events that ask for something: they may be refused. All others report what has happened, and are accepted even when
 * it cannot be saved.
 */
const MAY_BE_REFUSED: ReadonlySet<NodeEvent['kind']> = new Set([
  'create-container',
  'update-container',
  'pod-spec',
  'pod-spec-gone',
  'pod-specs',
]);

export interface Job {
  readonly kind: NodeEvent['kind'] | 'internal';
  readonly request?: NodeEvent;
  readonly mayBeRefused: boolean;
  /** `together`: the moves are planned later, with those of others. */
  readonly work: (draft: Draft, together: boolean) => Outcome;
}

export interface Decided {
  /** Undefined when the decision threw: nothing of it remains. */
  readonly draft: Draft | undefined;
  readonly outcome: Outcome;
  readonly fault?: { readonly error: unknown };
  /** The reason why the disk did not take it; for the log alone. */
  readonly problem?: string;
}

const NOT_SAVED = 'the decision could not be written to disk, so it was not made';

const FAULT: RuntimeAnswer = {
  kind: 'refuse',
  code: 'INTERNAL',
  message: 'a fault in cpusetd kept it from deciding, so nothing was changed; the log of cpusetd says more',
};

export function jobOf(event: NodeEvent, live: LiveCpusets | undefined): Job {
  return {
    kind: event.kind,
    request: event,
    mayBeRefused: MAY_BE_REFUSED.has(event.kind),
    work: (draft, together) =>
      together ? { answer: answerTo(draft, event, live), moves: [] } : handle(draft, event, live),
  };
}

/** Decides on events. Changes the model; each decision has a draft that takes it back. Never throws. */
export class Decider {
  constructor(
    private readonly parts: { readonly model: NodeModel; readonly now: () => string; readonly log: Logger },
  ) {}

  /** The results are in the order of the jobs. */
  decideAll(jobs: readonly Job[]): readonly Decided[] {
    return jobs.length > 1 ? this.decideTogether(jobs) : jobs.map((job) => this.decide(job));
  }

  /**
   * Decides where the disk takes nothing: a request for CPUs is refused, since it could not be promised. The problem of
   * the disk is for the log; the reason goes to the pod's Events too. A fact (a container ended) is kept in memory, and
   * saved with the next change that can be.
   */
  decideWithoutSaving(job: Job, because: string): Decided {
    const decided = this.decide(job);
    const { draft } = decided;
    if (!draft?.isPromise || !job.mayBeRefused) return decided;
    draft.rollback();
    draft.reported.length = 0; // it did not happen
    const message = `${NOT_SAVED}; the log of cpusetd says why`;
    return {
      draft,
      outcome: { answer: { kind: 'refuse', code: 'UNAVAILABLE', message }, moves: [] },
      problem: because,
    };
  }

  /** Each event is decided on its own, so that a fault takes no other event with it. */
  private decide({ kind, work }: Job, now = this.parts.now, together = false): Decided {
    const { model, log } = this.parts;
    let draft: Draft | undefined;
    try {
      draft = new Draft(model, now());
      return { draft, outcome: work(draft, together) };
    } catch (error) {
      draft?.rollback();
      if (kind !== 'internal')
        logFault(log, 'an event could not be decided; nothing of it remains', error, { event: kind });
      return { draft: undefined, outcome: { answer: FAULT, moves: [] }, fault: { error } };
    }
  }

  /** Containers that share a pool move once, to where the last of the events leaves them. */
  private decideTogether(jobs: readonly Job[]): readonly Decided[] {
    let time: string | undefined;
    const now = (): string => (time ??= this.parts.now());
    const decided = jobs.map((job) => this.decide(job, now, true));
    const drafts = decided.flatMap(({ draft }) => draft ?? []);
    let moves: readonly Move[];
    try {
      moves = planTogether(drafts);
    } catch (error) {
      logFault(
        this.parts.log,
        'moves of several events could not be planned together; each event is decided by itself',
        error,
      );
      for (const draft of drafts.reverse()) draft.rollback();
      return jobs.map((job) => this.decide(job));
    }
    if (moves.length === 0) return decided;
    // The CPUs that all of them take have to be free when the first is answered: each answer carries what it needs, and
    // more.
    return decided.map((each) => {
      const { draft, outcome } = each;
      if (!draft || outcome.answer.kind === 'refuse') return each;
      const own = draft.concernsEveryone ? moves : moves.filter(({ containerId }) => draft.hasTouched(containerId));
      return { ...each, outcome: { ...outcome, moves: own } };
    });
  }
}
