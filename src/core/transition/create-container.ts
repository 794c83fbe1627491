import type { ContainerInfo, PodInfo, RuntimeAnswer } from '../model/events';
import type { Draft } from './draft';
import { adjustmentOf, placeContainer } from './place-container';
import { rememberLivePod } from './pods';

/** The container is about to be made: decides where it runs, before it runs. */
export function createContainer(draft: Draft, pod: PodInfo, container: ContainerInfo): RuntimeAnswer {
  rememberLivePod(draft, pod);
  const placed = placeContainer(draft, pod, container);
  if (placed.kind === 'refuse') return placed;
  const { promise } = placed.container;
  draft.put({
    kind: 'put-container',
    container: { ...placed.container, phase: 'creating', ...(promise && { told: promise, recorded: promise }) },
  });
  return { kind: 'ok', ...(promise && { adjust: adjustmentOf(promise, placed.liftQuota) }) };
}
