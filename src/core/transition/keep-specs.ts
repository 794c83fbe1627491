import { rememberedAnnotations, digestAnnotations } from '../annotations/decisive';
import { isAssigned } from '../model/pool-view';
import { infoOf, type Container, type Pod } from '../model/container';
import type { NodeView } from '../model/node-view';
import type { PodSpec } from '../model/pod-spec';
import { findSpec, withSpec } from '../model/spec-book';
import { ENTITLEMENTS } from '../policy';
import type { CpuRequest } from '../inference/infer-cpu-request';
import type { NodeEvent } from '../model/events';
import type { Draft } from './draft';
import { entitle } from './entitlement';

/**
 * Keeps on disk what the API server told of a pod, as long as forgetting it would change what a container of the pod has: its
 * annotations have changed since the sandbox was made, or a container shares although its message looks entitled. So a
 * restart while the API server is away moves nobody. Of all other pods the runtime tells enough, and nothing is written.
 *
 * Only the pods about which the event changed something are looked at: it is known by what is known of the pod alone.
 */
export function keepSpecs(draft: Draft, event: NodeEvent): void {
  const { model } = draft;
  if (!model.synchronized) return; // which pods there are is not known yet
  if (model.podSpecs.size === 0 && model.keptSpecs.size === 0) return;
  const isWhole = event.kind === 'synchronize';
  const needed = new Set<string>();
  for (const pod of isWhole ? model.pods.values() : draft.podUids.flatMap((uid) => model.podsOf(uid))) {
    if (pod.stopped) continue;
    const spec = findSpec(model, pod);
    const before = findSpec({ podSpecs: model.keptSpecs }, pod);
    // What still runs of a pod that the API server has no more keeps what it has.
    if (!spec && before) needed.add(before.uid);
    if (!spec || !(mayKeep(event) || before?.uid === spec.uid) || !isNeeded(model, pod, spec)) continue;
    needed.add(spec.uid);
    if (mayKeep(event)) keep(draft, spec);
  }
  const kept = isWhole ? [...model.keptSpecs.values()] : draft.podUids.flatMap((uid) => model.keptSpecs.ofRuntime(uid));
  for (const { uid } of kept) if (!needed.has(uid)) draft.put({ kind: 'unkeep-spec', uid });
}

function keep(draft: Draft, spec: PodSpec): void {
  const kept = reduce(spec);
  const before = draft.model.keptSpecs.get(kept.uid);
  if (!before || JSON.stringify(before) !== JSON.stringify(kept)) draft.put({ kind: 'keep-spec', spec: kept });
}

/** Not with a creation itself: that must not fail because the disk is full. What is made tells of itself soon. */
function mayKeep({ kind }: NodeEvent): boolean {
  return (
    kind === 'synchronize' ||
    kind === 'pod-specs' ||
    kind === 'pod-spec' ||
    kind === 'container-created' ||
    kind === 'container-starting' ||
    kind === 'container-started'
  );
}

function isNeeded(view: NodeView, pod: Pod, spec: PodSpec): boolean {
  if (
    spec.containers.some(
      ({ name }) => digestAnnotations(spec.annotations, name) !== digestAnnotations(pod.annotations, name),
    )
  )
    return true;
  for (const container of view.containersOf(pod.uid))
    if (container.sandboxId === pod.sandboxId && !isAssigned(container) && looksOtherwise(view, pod, spec, container))
      return true;
  return false;
}

/** Whether its message alone would entitle a container that shares to another number of CPUs. */
function looksOtherwise(view: NodeView, pod: Pod, spec: PodSpec, container: Container): boolean {
  const info = infoOf(container);
  const {
    chosen: { policy },
    request,
  } = entitle(view.settings, withSpec(pod, spec), info);
  return policy !== 'none' && countOf(request) !== countOf(ENTITLEMENTS[policy](pod, info));
}

function countOf(request: CpuRequest): number {
  return request.kind === 'exclusive' ? request.count : 0;
}

function reduce({ annotations, ...spec }: PodSpec): PodSpec {
  const names = spec.containers.map(({ name }) => name);
  return { ...spec, annotations: rememberedAnnotations(annotations, names) };
}
