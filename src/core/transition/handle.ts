import type { RuntimeAnswer } from '../model/events';
import type { NodeEvent } from '../model/pod-event';
import { planMoves, type Move } from '../plan/plan-moves';
import { advanceContainer, endContainer } from './container-life';
import { createContainer } from './create-container';
import type { Draft } from './draft';
import { nameContainer } from './name-container';
import { removePod, stopPod } from './pod-life';
import { retrySwitches } from './live-switch';
import { forgetSpec, learnSpec, learnSpecs, switchAllPods } from './pod-specs';
import { returnIdle } from './return-idle';
import { rememberLivePod } from './pods';
import { synchronize, type LiveCpusets } from './synchronize';
import { forgetRecord, learnUpdate } from './update-outcome';
import { updateContainer } from './update-container';
import { placeWaiting } from './waiting';

/** What an event leads to: the moves to carry out first, then the answer. The changes are in the draft. */
export interface Outcome {
  readonly answer: RuntimeAnswer;
  readonly moves: readonly Move[];
}

const OK: RuntimeAnswer = { kind: 'ok' };

/** The one path of every event. `live` is asked for only where the event needs what the kernel has. */
export function handle(draft: Draft, event: NodeEvent, live: LiveCpusets = new Map()): Outcome {
  const answer = decide(draft, event, live);
  if (answer.kind === 'refuse') draft.rollback();
  else followUp(draft, event);
  return { answer, moves: answer.kind === 'refuse' ? [] : planMoves(draft) };
}

/** What becomes possible with an event for others than the one that it is about. */
function followUp(draft: Draft, { kind }: NodeEvent): void {
  if (kind === 'synchronize') switchAllPods(draft);
  returnIdle(draft);
  if (!draft.isDurable) return; // nobody can have given CPUs back
  placeWaiting(draft);
  retrySwitches(draft);
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
