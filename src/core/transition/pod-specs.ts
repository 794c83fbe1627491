import { runtimeUidOf } from '../model/find-spec';
import type { PodSpec } from '../model/pod-spec';
import type { Draft } from './draft';
import { byUid, switchPod } from './live-switch';
import { releasePod } from './pods';

/** A pod was added at the API server, or something about it changed. */
export function learnSpec(draft: Draft, spec: PodSpec): void {
  draft.put({ kind: 'put-spec', spec });
  switchPod(draft, spec);
}

/** The API server has the pod no more. What still runs of it keeps what it has; the runtime tells of its end. */
export function forgetSpec(draft: Draft, uid: string): void {
  const spec = draft.model.podSpecs.get(uid);
  draft.put({ kind: 'drop-spec', uid });
  const gone = new Set([uid, ...(spec ? [runtimeUidOf(spec)] : [])]);
  releaseUnknown(draft, (podUid) => gone.has(podUid));
}

/** All pods that the API server has: those that are missing are gone, and of those that were told by themselves nothing is new. */
export function learnSpecs(draft: Draft, specs: readonly PodSpec[]): void {
  const { podSpecs } = draft.model;
  const present = new Set(specs.map(({ uid }) => uid));
  for (const uid of [...podSpecs.keys()]) if (!present.has(uid)) draft.put({ kind: 'drop-spec', uid });
  const news = specs.filter((spec) => podSpecs.get(spec.uid) !== spec);
  for (const spec of news) draft.put({ kind: 'put-spec', spec });
  for (const spec of [...news].sort(byUid)) switchPod(draft, spec);
  releaseUnknown(draft, () => true);
}

/** What is known of the runtime and what the API server told meet anew: every pod is looked at. */
export function switchAllPods(draft: Draft): void {
  for (const spec of [...draft.model.podSpecs.values()].sort(byUid)) switchPod(draft, spec);
}

/** Gives back what belongs to pods that neither the API server nor the runtime has: where one was not heard yet, nothing. */
function releaseUnknown(draft: Draft, isMeant: (podUid: string) => boolean): void {
  const { model } = draft;
  if (!model.synchronized) return;
  const known = new Set([...model.pods.values()].map(({ uid }) => uid));
  for (const spec of model.podSpecs.values()) known.add(spec.uid).add(runtimeUidOf(spec));
  const owners = new Set([...model.assignments.values()].map(({ podUid }) => podUid));
  for (const uid of owners)
    if (isMeant(uid) && !known.has(uid))
      releasePod(draft, uid, 'neither the API server nor the runtime has the pod any more');
}
