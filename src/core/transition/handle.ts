import type { NodeEvent, RuntimeAnswer } from '../model/events';
import { createContainer } from './create-container';
import type { Draft } from './draft';
import { keepSpecs } from './keep-specs';
import {
  advanceContainer,
  endContainer,
  forgetRecord,
  learnUpdate,
  nameContainer,
  rememberLivePod,
  removePod,
  stopPod,
} from './lifecycle';
import { answerOf, planChanges, type Outcome } from './outcome';
import { meetPauses } from './pauses';
import type { Refused } from './place';
import { forgetSpec, learnSpec, learnSpecs, switchAllPods } from './pod-specs';
import { passOn } from './retry';
import { synchronize, type LiveCpusets } from './synchronize';
import { updateContainer } from './update-container';

/** The one path of every event. `live` is needed for an event that compares with the kernel. */
export function handle(draft: Draft, event: NodeEvent, live?: LiveCpusets): Outcome {
  const answer = answerTo(draft, event, live);
  return { answer, moves: answer.kind === 'refuse' ? [] : planChanges(draft) };
}

/** The same without the moves, which `planTogether` plans for all events that arrived at once. */
export function answerTo(draft: Draft, event: NodeEvent, live: LiveCpusets = new Map()): RuntimeAnswer {
  const refusal = decide(draft, event, live);
  if (refusal) {
    draft.rollback();
    return refusal;
  }
  if (event.kind === 'synchronize') switchAllPods(draft);
  passOn(draft);
  keepSpecs(draft, event);
  return answerOf(draft, event);
}

function decide(draft: Draft, event: NodeEvent, live: LiveCpusets): Refused | undefined {
  switch (event.kind) {
    case 'synchronize':
      synchronize(draft, event, live);
      draft.put({ kind: 'set-synchronized', synchronized: true });
      return undefined;
    case 'pod-started':
      rememberLivePod(draft, event.pod);
      return undefined;
    case 'pauses-found':
      meetPauses(draft, event.pauses);
      return undefined;
    case 'pod-stopped':
      stopPod(draft, event.sandboxId);
      return undefined;
    case 'pod-removed':
      removePod(draft, event.sandboxId);
      return undefined;
    case 'create-container':
      return createContainer(draft, event);
    case 'container-named':
      nameContainer(draft, event);
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
      return updateContainer(draft, event);
    case 'container-updated':
      learnUpdate(draft, event);
      return undefined;
    case 'update-failed':
      forgetRecord(draft, event.containerId);
      return undefined;
    case 'container-stopped':
    case 'container-removed':
      endContainer(draft, event.containerId);
      return undefined;
    case 'pod-spec':
      learnSpec(draft, event.spec);
      return undefined;
    case 'pod-spec-gone':
      forgetSpec(draft, event.uid);
      return undefined;
    case 'pod-specs':
      learnSpecs(draft, event.specs);
      return undefined;
  }
}
