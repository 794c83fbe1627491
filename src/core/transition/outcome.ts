import { assignmentOf } from '../model/assignment';
import { hasCgroup, type Container } from '../model/container';
import type { CpuAdjustment, CpuResources, NodeEvent, RuntimeAnswer } from '../model/events';
import { isAssigned } from '../model/pool-view';
import type { NodeView } from '../model/node-view';
import { planMoves, type Move } from '../plan/plan-moves';
import { withPromise } from '../plan/promise';
import type { Draft } from './draft';

/** The end of an event: moves to carry out first, then the answer. The changes are in the draft. */
export interface Outcome {
  readonly answer: RuntimeAnswer;
  readonly moves: readonly Move[];
}

/**
 * The answer to an event that was not refused: the promise of its container, after everything else that followed from the event. The
 * runtime carries it out with the answer, so it counts as given.
 */
export function answerOf(draft: Draft, event: NodeEvent): RuntimeAnswer {
  if (event.kind !== 'create-container' && event.kind !== 'update-container') return { kind: 'ok' };
  const { model } = draft;
  const known = model.containers.get(event.container.id);
  const container = known && withPromise(model, known);
  if (!container?.promise) return { kind: 'ok' };
  const { promise } = container;
  if (event.kind === 'create-container') {
    // New keys come first: V8 adds one to a copy slowly. A container that is being created has neither of them yet.
    draft.put({ kind: 'put-container', container: { told: promise, recorded: promise, ...container } });
    return { kind: 'ok', adjust: adjustmentOf(model, container, event.container.resources) };
  }
  // A container that is still to start begins with this update or with what it had: an update in between can be lost.
  const given = hasCgroup(container) ? container : withoutTold(container);
  draft.put({ kind: 'put-container', container: { ...given, recorded: promise } });
  return { kind: 'ok', adjust: adjustmentOf(model, container, event.resources) };
}

function withoutTold({ told: _unknown, ...container }: Container): Container {
  return container;
}

/** The promise in the form of an answer. Never an empty list: there it would mean "no change". */
function adjustmentOf(view: NodeView, container: Container, { quotaUs = 0 }: CpuResources): CpuAdjustment {
  const { cpus, mems } = container.promise!;
  const isLifted = quotaUs > 0 && isAssigned(container) && assignmentOf(view, container)?.quotaLifted === true;
  return { cpus, ...(!mems.isEmpty && { mems }), ...(isLifted && { quotaUs: -1 }) };
}

/** Renews the promises that the changes of a draft concern, and lists the moves that follow. */
export function planChanges(draft: Draft): Move[] {
  return planFor(draft, draft.affected());
}

/**
 * The moves that several events lead to, each of which was answered on a draft of its own. Each container is looked at once, and
 * not once for each event. The last draft takes the changes, so it has to be rolled back first.
 */
export function planTogether(drafts: readonly Draft[]): Move[] {
  const last = drafts.at(-1);
  if (!last) return [];
  const ofEveryone = drafts.find((draft) => draft.concernsEveryone);
  return planFor(last, ofEveryone?.affected() ?? new Set(drafts.flatMap((draft) => draft.affected())));
}

function planFor(draft: Draft, containers: Iterable<Container>): Move[] {
  const renewed: Container[] = [];
  for (const before of containers) {
    const container = withPromise(draft.model, before);
    if (container !== before) draft.put({ kind: 'put-container', container });
    renewed.push(container);
  }
  return planMoves(draft.model, renewed);
}
