import { forgetContainer } from './container-life';
import type { Draft } from './draft';
import { forgetPause } from './pauses';
import { releaseWhenDone } from './pods';

/** The sandbox was stopped: CPUs go back when its last container is gone, normally now. */
export function stopPod(draft: Draft, sandboxId: string): void {
  const pod = draft.model.pods.get(sandboxId);
  if (!pod) return;
  draft.put({ kind: 'put-pod', pod: { ...pod, stopped: true } });
  forgetPause(draft, sandboxId);
  releaseWhenDone(draft, sandboxId);
}

/** The sandbox is gone, and with it everything in it. */
export function removePod(draft: Draft, sandboxId: string): void {
  const pod = draft.model.pods.get(sandboxId);
  if (!pod) return;
  draft.put({ kind: 'put-pod', pod: { ...pod, stopped: true } });
  forgetPause(draft, sandboxId);
  for (const container of draft.model.containersOf(pod.uid)) {
    if (container.sandboxId === sandboxId) forgetContainer(draft, container);
  }
  releaseWhenDone(draft, sandboxId);
  draft.put({ kind: 'drop-pod', sandboxId });
}
