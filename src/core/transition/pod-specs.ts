import { apiHasPod, isInRuntime } from '../model/pod-presence';
import { runtimeUidOf, type PodSpec } from '../model/pod-spec';
import { compareTexts } from '../text';
import type { Draft } from './draft';
import { releasePod } from './lifecycle';
import { switchPod } from './live-switch';
import { enqueue } from './pending-pods';

/** The API server has added a pod, or changed it. */
export function putSpec(draft: Draft, spec: PodSpec): void {
  const { specSource, podSpecs } = draft.model;
  if (!specSource.hasReported) draft.put({ kind: 'set-spec-source', source: { ...specSource, hasReported: true } });
  const before = podSpecs.get(spec.uid);
  draft.put({ kind: 'put-spec', spec });
  switchPod(draft, spec);
  enqueue(draft, spec);
  if (before) releaseUnknown(draft, [runtimeUidOf(before)]);
}

/** The API server no longer has the pod. Its running containers keep their CPUs until the runtime reports their end. */
export function removeSpec(draft: Draft, uid: string): void {
  const spec = draft.model.podSpecs.get(uid);
  dropSpec(draft, uid);
  releaseUnknown(draft, [uid, ...(spec ? [runtimeUidOf(spec)] : [])]);
}

/**
 * The complete list of the API server. Pods that are missing are gone; specs that were reported one by one are not new.
 */
export function replaceSpecs(draft: Draft, specs: readonly PodSpec[]): void {
  const { model } = draft;
  const { podSpecs } = model;
  const { hasReported, awaited } = model.specSource;
  if (!hasReported || awaited.size > 0)
    draft.put({ kind: 'set-spec-source', source: { hasReported: true, awaited: new Set<string>() } });
  const present = new Set(specs.map(({ uid }) => uid));
  for (const uid of [...podSpecs.keys()]) if (!present.has(uid)) dropSpec(draft, uid);
  const changed = specs.filter((spec) => podSpecs.get(spec.uid) !== spec);
  for (const spec of changed) draft.put({ kind: 'put-spec', spec });
  for (const spec of sortByUid(changed)) switchPod(draft, spec);
  releaseUnknown(draft, new Set([...model.assignments.values()].map(({ podUid }) => podUid)));
  for (const spec of changed) enqueue(draft, spec);
}

/** Evaluates all specs again, after a synchronization with the runtime. */
export function switchAllPods(draft: Draft): void {
  const specs = sortByUid([...draft.model.podSpecs.values()]);
  for (const spec of specs) switchPod(draft, spec);
  for (const spec of specs) enqueue(draft, spec);
}

/** The order in which pods are decided on, whatever the order in which they are reported. */
function sortByUid(specs: readonly PodSpec[]): PodSpec[] {
  return [...specs].sort((a, b) => compareTexts(a.uid, b.uid));
}

function dropSpec(draft: Draft, uid: string): void {
  draft.put({ kind: 'drop-spec', uid });
  if (draft.model.unplanned.has(uid)) draft.put({ kind: 'drop-unplanned', uid });
}

/**
 * Gives back the CPUs of pods of which the runtime has nothing, and that are not made again. Before the first lists of
 * both, nothing is given back.
 */
function releaseUnknown(draft: Draft, podUids: Iterable<string>): void {
  const { model } = draft;
  if (!model.synchronized) return;
  for (const uid of podUids)
    if (!isInRuntime(model, uid) && !apiHasPod(model, uid))
      releasePod(draft, uid, 'the runtime has nothing of the pod, and it is not made again');
}
