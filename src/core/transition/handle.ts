import { tryParseCpuList, type CpuSet } from '../cpuset';
import { hasCgroup, type Container } from '../model/container';
import type { CpuAdjustment, CpuResources, NodeEvent, RuntimeAnswer } from '../model/events';
import { describeKeptCpus } from '../model/kept-cpus';
import type { NodeView } from '../model/node-view';
import { keptOfBrought } from '../model/brought';
import { isAssigned, sharedPoolFor } from '../model/pool-view';
import { planMoves, type Move } from '../plan/plan-moves';
import { withPromise } from '../plan/promise';
import type { LiveCpusets } from './adopt';
import { createContainer } from './create-container';
import type { Draft } from './draft';
import { keepSpecs } from './keep-specs';
import { advanceContainer, endContainer, removePod, setContainerId, startPod, stopPod } from './lifecycle';
import { addPauses } from './pauses';
import type { Refused } from './place';
import { putSpec, removeSpec, replaceSpecs, switchAllPods } from './pod-specs';
import { reassignFreed } from './reassign-freed';
import { dropRecord, markUpdateApplied } from './runtime-record';
import { synchronize } from './synchronize';
import { describeIdentity } from './describe-identity';
import { updateContainer } from './update-container';

/** The result of an event: the moves to carry out first, then the answer. The changes are in the draft. */
export interface Outcome {
  readonly answer: RuntimeAnswer;
  readonly moves: readonly Move[];
}

/** Handles one event. `live` is needed for an event that compares with the kernel. */
export function handle(draft: Draft, event: NodeEvent, live?: LiveCpusets): Outcome {
  const answer = answerTo(draft, event, live);
  return { answer, moves: answer.kind === 'refuse' ? [] : planChanges(draft) };
}

/** Handles one event of several that arrived at once; `planTogether` then plans the moves of all. */
export function answerTo(draft: Draft, event: NodeEvent, live: LiveCpusets = new Map()): RuntimeAnswer {
  const refusal = decide(draft, event, live);
  if (refusal) {
    draft.rollback();
    const remarks = draft.reported.filter(({ kind }) => kind === 'annotation-ignored');
    draft.reported.splice(0, Infinity, ...remarks); // nothing else has happened
    return refusal;
  }
  reassignFreed(draft);
  keepSpecs(draft, event);
  return answerOf(draft, event);
}

function decide(draft: Draft, event: NodeEvent, live: LiveCpusets): Refused | undefined {
  switch (event.kind) {
    case 'synchronize':
      synchronize(draft, event, live);
      draft.put({ kind: 'set-synchronized', synchronized: true });
      switchAllPods(draft);
      return undefined;
    case 'pod-started':
      startPod(draft, event.pod);
      return undefined;
    case 'pauses-found':
      addPauses(draft, event.pauses);
      return undefined;
    case 'pod-stopped':
      stopPod(draft, event.sandboxId);
      return undefined;
    case 'pod-removed':
      removePod(draft, event.sandboxId);
      return undefined;
    case 'create-container':
      return withKept(draft.model, event.pod, createContainer(draft, event));
    case 'container-named':
      setContainerId(draft, event);
      return undefined;
    case 'container-created':
      advanceContainer(draft, event.pod, event.container, 'created');
      return undefined;
    case 'container-starting':
      advanceContainer(draft, event.pod, event.container, 'starting');
      return undefined;
    case 'container-started':
      advanceContainer(draft, event.pod, event.container, 'running');
      return undefined;
    case 'update-container':
      return withKept(draft.model, event.pod, updateContainer(draft, event));
    case 'container-updated':
      markUpdateApplied(draft, event);
      return undefined;
    case 'update-failed':
      dropRecord(draft, event.containerId);
      return undefined;
    case 'container-stopped':
    case 'container-removed':
      endContainer(draft, event.containerId);
      return undefined;
    case 'pod-spec':
      putSpec(draft, event.spec);
      return undefined;
    case 'pod-spec-gone':
      removeSpec(draft, event.uid);
      return undefined;
    case 'pod-specs':
      replaceSpecs(draft, event.specs);
      return undefined;
  }
}

/** Adds to a refusal for lack of CPUs those that are kept for other pods. */
function withKept(view: NodeView, pod: { readonly uid: string }, refusal: Refused | undefined): Refused | undefined {
  if (refusal?.code !== 'RESOURCE_EXHAUSTED') return refusal;
  return { ...refusal, message: `${refusal.message}${describeKeptCpus(view, pod)}` };
}

/**
 * The answer to an event that was not refused: the promise that its container has after all consequences of the event.
 * The runtime carries it out with the answer, so it counts as applied.
 */
function answerOf(draft: Draft, event: NodeEvent): RuntimeAnswer {
  if (event.kind !== 'create-container' && event.kind !== 'update-container') return { kind: 'ok' };
  const { model } = draft;
  const known = model.containers.get(event.container.id);
  const container = known && withPromise(model, known);
  if (event.kind === 'create-container') return answerCreation(draft, event, container);
  if (!container?.promise) return { kind: 'ok' };
  const { promise } = container;
  // The update of a container that has not started can be lost: nothing counts as applied.
  const updated = hasCgroup(container) ? container : withoutApplied(container);
  draft.put({ kind: 'put-container', container: { ...updated, runtimeRecord: promise } });
  return { kind: 'ok', ...withoutBrought(adjustmentOf(model, container, event.resources), event.resources) };
}

function answerCreation(
  draft: Draft,
  event: Extract<NodeEvent, { kind: 'create-container' }>,
  container: Container | undefined,
): RuntimeAnswer {
  const promise = container?.promise;
  // New keys come first: V8 adds one to a copy slowly. A container that is being created has neither of them yet.
  if (promise)
    draft.put({ kind: 'put-container', container: { applied: promise, runtimeRecord: promise, ...container } });
  const { model } = draft;
  const adjustment = promise
    ? adjustmentOf(model, container, event.container.resources)
    : container && startOf(model, container);
  const identity = describeIdentity(draft, event);
  return {
    kind: 'ok',
    ...withoutBrought(adjustment, event.container.resources),
    ...(identity && { identity }),
  };
}

/** The CPUs that a container which is left alone starts with: it is not moved later, whoever owns them then. */
function startOf(view: NodeView, container: Container): CpuAdjustment {
  if (!container.leftAlone || view.settings.leftAloneStart === 'untouched') return {};
  const brought = view.broughtTo(container.podUid, container.name)?.cpus;
  return { cpus: (brought && keptOfBrought(view, brought)) ?? sharedPoolFor(view, container) };
}

function withoutApplied({ applied: _unknown, ...container }: Container): Container {
  return container;
}

/** The promise in the form of an answer. Never an empty list: there it would mean "no change". */
function adjustmentOf(view: NodeView, container: Container, { quotaUs = 0 }: CpuResources): CpuAdjustment {
  const { cpus, mems } = container.promise!;
  const isLifted = quotaUs > 0 && isAssigned(container) && view.assignmentOf(container)?.quotaLifted === true;
  return { cpus, ...(!mems.isEmpty && { mems }), ...(isLifted && { quotaUs: -1 }) };
}

/**
 * Leaves out what the request has already: a field that is set again belongs to cpusetd, and another plugin that set it
 * would fail the creation.
 */
function withoutBrought(
  { cpus, mems, ...quota }: CpuAdjustment = {},
  asked: CpuResources,
): Pick<Extract<RuntimeAnswer, { kind: 'ok' }>, 'adjust'> {
  const isAsked = (set: CpuSet, list: string | undefined): boolean =>
    list !== undefined && tryParseCpuList(list)?.equals(set) === true;
  const adjust: CpuAdjustment = {
    ...(cpus && !isAsked(cpus, asked.cpus) && { cpus }),
    ...(mems && !isAsked(mems, asked.mems) && { mems }),
    ...quota,
  };
  return Object.keys(adjust).length === 0 ? {} : { adjust };
}

/** Renews the promises that the changes of a draft concern, and lists the moves that follow. */
export function planChanges(draft: Draft): Move[] {
  return planFor(draft, draft.affected());
}

/**
 * The moves for several events, each of which was answered on a draft of its own. Each container is looked at once, and
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
