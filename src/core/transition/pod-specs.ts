import { runtimeUidOf, type PodSpec } from '../model/pod-spec';
import { apiHasPod, isInRuntime } from './api-has-pod';
import type { Draft } from './draft';
import { byUid, switchPod } from './live-switch';
import { releasePod } from './lifecycle';
import { enlist } from './plan-pods';

/** A pod was added at the API server, or something about it changed. */
export function learnSpec(draft: Draft, spec: PodSpec): void {
  const { specSource, podSpecs } = draft.model;
  if (!specSource.told) draft.put({ kind: 'set-spec-source', source: { ...specSource, told: true } });
  const before = podSpecs.get(spec.uid);
  draft.put({ kind: 'put-spec', spec });
  switchPod(draft, spec);
  enlist(draft, spec);
  if (before) releaseUnknown(draft, [runtimeUidOf(before)]);
}

/** The API server has the pod no more. What still runs of it keeps what it has; the runtime tells of its end. */
export function forgetSpec(draft: Draft, uid: string): void {
  const spec = draft.model.podSpecs.get(uid);
  dropSpec(draft, uid);
  releaseUnknown(draft, [uid, ...(spec ? [runtimeUidOf(spec)] : [])]);
}

/** All pods that the API server has: those that are missing are gone, and of those that were told by themselves nothing is new. */
export function learnSpecs(draft: Draft, specs: readonly PodSpec[]): void {
  const { model } = draft;
  const { podSpecs } = model;
  const { told, awaited } = model.specSource;
  if (!told || awaited.size > 0)
    draft.put({ kind: 'set-spec-source', source: { told: true, awaited: new Set<string>() } });
  const present = new Set(specs.map(({ uid }) => uid));
  for (const uid of [...podSpecs.keys()]) if (!present.has(uid)) dropSpec(draft, uid);
  const news = specs.filter((spec) => podSpecs.get(spec.uid) !== spec);
  for (const spec of news) draft.put({ kind: 'put-spec', spec });
  for (const spec of [...news].sort(byUid)) switchPod(draft, spec);
  releaseUnknown(draft, new Set([...model.assignments.values()].map(({ podUid }) => podUid)));
  for (const spec of news) enlist(draft, spec);
}

/** What is known of the runtime and what the API server told meet anew: every pod is looked at. */
export function switchAllPods(draft: Draft): void {
  const specs = [...draft.model.podSpecs.values()].sort(byUid);
  for (const spec of specs) switchPod(draft, spec);
  for (const spec of specs) enlist(draft, spec);
}

function dropSpec(draft: Draft, uid: string): void {
  draft.put({ kind: 'drop-spec', uid });
  if (draft.model.unplanned.has(uid)) draft.put({ kind: 'drop-unplanned', uid });
}

/** Gives back what belongs to pods that the API server does not have and that do not run: where one was not heard yet, nothing. */
function releaseUnknown(draft: Draft, podUids: Iterable<string>): void {
  const { model } = draft;
  if (!model.synchronized) return;
  for (const uid of podUids)
    if (!isInRuntime(model, uid) && !apiHasPod(model, uid))
      releasePod(draft, uid, 'neither the API server nor the runtime has the pod any more');
}
