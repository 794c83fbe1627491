import { samePromise } from '../model/container';
import type { RuntimeAnswer } from '../model/events';
import type { NodeEvent } from '../model/pod-event';
import { planMoves, promiseOf, type Move } from '../plan/plan-moves';
import { advanceContainer, endContainer } from './container-life';
import { createContainer } from './create-container';
import { affectedBy, type Draft } from './draft';
import { keepSpecs } from './keep-specs';
import { nameContainer } from './name-container';
import { adjustmentOf } from './place-container';
import { passOn } from './pass-on';
import { meetPauses } from './pauses';
import { removePod, stopPod } from './pod-life';
import { forgetSpec, learnSpec, learnSpecs, switchAllPods } from './pod-specs';
import { rememberLivePod } from './pods';
import { synchronize, type LiveCpusets } from './synchronize';
import { forgetRecord, learnUpdate } from './update-outcome';
import { updateContainer } from './update-container';

/** What an event leads to: the moves to carry out first, then the answer. The changes are in the draft. */
export interface Outcome {
  readonly answer: RuntimeAnswer;
  readonly moves: readonly Move[];
}

const OK: RuntimeAnswer = { kind: 'ok' };

/** The one path of every event. `live` is asked for only where the event needs what the kernel has. */
export function handle(draft: Draft, event: NodeEvent, live?: LiveCpusets): Outcome {
  const answer = answerTo(draft, event, live);
  return { answer, moves: answer.kind === 'refuse' ? [] : planMoves(draft) };
}

/** The same without the moves, which `planTogether` plans for all events that arrived at once. */
export function answerTo(draft: Draft, event: NodeEvent, live: LiveCpusets = new Map()): RuntimeAnswer {
  const decided = decide(draft, event, live);
  if (decided.kind === 'refuse') {
    draft.rollback();
    return decided;
  }
  if (event.kind === 'synchronize') switchAllPods(draft);
  passOn(draft);
  keepSpecs(draft, event);
  return renewAnswer(draft, event, decided);
}

/**
 * The moves that several events lead to, each of which was answered on a draft of its own. Each container is looked at once, and
 * not once for each event. The last draft takes the changes, so it has to be rolled back first.
 */
export function planTogether(drafts: readonly Draft[]): Move[] {
  const last = drafts.at(-1);
  if (!last) return [];
  const { model, put } = last;
  return planMoves({ model, put, affected: () => affectedBy(drafts) });
}

/** Somebody else may have been given CPUs that this very event set free: the answer must not carry them. */
function renewAnswer(draft: Draft, event: NodeEvent, answer: RuntimeAnswer): RuntimeAnswer {
  if (answer.kind === 'refuse' || !answer.adjust) return answer;
  if (event.kind !== 'create-container' && event.kind !== 'update-container') return answer;
  const container = draft.model.containers.get(event.container.id);
  const promise = container && promiseOf(draft.model, container);
  if (!promise || samePromise(promise, container.promise)) return answer;
  const told = event.kind === 'create-container' && { told: promise };
  draft.put({ kind: 'put-container', container: { ...container, promise, recorded: promise, ...told } });
  return { ...answer, adjust: { ...answer.adjust, ...adjustmentOf(promise, false) } };
}

function decide(draft: Draft, event: NodeEvent, live: LiveCpusets): RuntimeAnswer {
  switch (event.kind) {
    case 'synchronize':
      synchronize(draft, event, live);
      draft.put({ kind: 'set-synchronized', synchronized: true });
      return OK;
    case 'pod-started':
      rememberLivePod(draft, event.pod);
      return OK;
    case 'pauses-found':
      meetPauses(draft, event.pauses);
      return OK;
    case 'pod-stopped':
      stopPod(draft, event.sandboxId);
      return OK;
    case 'pod-removed':
      removePod(draft, event.sandboxId);
      return OK;
    case 'create-container':
      return createContainer(draft, event.pod, event.container, event.shareBecause);
    case 'container-named':
      nameContainer(draft, event);
      return OK;
    case 'container-created':
      advanceContainer(draft, event.pod, event.container, 'created');
      return OK;
    case 'container-starting':
      advanceContainer(draft, event.pod, event.container, 'starting');
      return OK;
    case 'container-started':
      advanceContainer(draft, event.pod, event.container, 'running');
      return OK;
    case 'update-container':
      return updateContainer(draft, event.pod, event.container, event.resources);
    case 'container-updated':
      learnUpdate(draft, event);
      return OK;
    case 'update-failed':
      forgetRecord(draft, event.containerId);
      return OK;
    case 'container-stopped':
    case 'container-removed':
      endContainer(draft, event.containerId);
      return OK;
    case 'pod-spec':
      learnSpec(draft, event.spec);
      return OK;
    case 'pod-spec-gone':
      forgetSpec(draft, event.uid);
      return OK;
    case 'pod-specs':
      learnSpecs(draft, event.specs);
      return OK;
  }
}
