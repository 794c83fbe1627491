import { rememberedAnnotations, digestAnnotations } from '../annotations/decisive';
import { isAssigned } from '../model/pool-view';
import { infoOf, type Container, type Pod } from '../model/container';
import type { NodeView } from '../model/node-view';
import type { PodSpec } from '../model/pod-spec';
import { findSpec, withSpec } from '../model/spec-book';
import { entitle, entitledCpus, ENTITLEMENTS } from '../decision/entitlement';
import type { NodeEvent } from '../model/events';
import type { Draft } from './draft';

/**
 * Keeps on disk the specs of pods for which the runtime's data alone would give another result: the annotations have
 * changed since the sandbox was created, a container shares although its message looks entitled, or messages do not
 * have the huge pages that count. A restart while the API server is away then moves no container. The specs of all
 * other pods are not written.
 *
 * The answer depends on the pod alone, so only pods that the event has changed are looked at.
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
    // Running containers of a pod that the API server no longer has keep their CPUs.
    if (!spec && before) needed.add(before.uid);
    if (!spec || !(mayKeep(event) || before?.uid === spec.uid) || !isNeeded(model, pod, spec)) continue;
    needed.add(spec.uid);
    if (mayKeep(event)) keepSpec(draft, spec);
  }
  const kept = isWhole ? [...model.keptSpecs.values()] : draft.podUids.flatMap((uid) => model.keptSpecs.ofRuntime(uid));
  for (const { uid } of kept) if (!needed.has(uid)) draft.put({ kind: 'unkeep-spec', uid });
}

function keepSpec(draft: Draft, spec: PodSpec): void {
  const kept = reduce(spec);
  const before = draft.model.keptSpecs.get(kept.uid);
  if (!before || JSON.stringify(before) !== JSON.stringify(kept)) draft.put({ kind: 'keep-spec', spec: kept });
}

/** False for a creation: it must not fail because the disk is full. The events that follow it keep the spec. */
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
    if (container.sandboxId === pod.sandboxId && !isAssigned(container) && messageDisagrees(view, pod, spec, container))
      return true;
  return hidesHugePages(view, pod, spec);
}

/** True when the messages of containers whose huge pages count have others than the spec, or have not come yet. */
function hidesHugePages(view: NodeView, { uid }: Pod, spec: PodSpec): boolean {
  const living = new Map(view.containersOf(uid).map((container) => [container.name, container]));
  const withCpus = new Set(view.assignmentsOf(uid).map(({ containerName }) => containerName));
  return spec.containers.some(({ name, limitHugePages }) => {
    const container = living.get(name);
    const counts = withCpus.has(name) || container?.promise?.mems.isEmpty === false;
    return counts && JSON.stringify(limitHugePages) !== JSON.stringify(container?.resources.hugePages);
  });
}

/** True when its message alone would entitle a container that shares to another number of CPUs. */
function messageDisagrees(view: NodeView, pod: Pod, spec: PodSpec, container: Container): boolean {
  const info = infoOf(container);
  const {
    chosen: { policy },
    request,
  } = entitle(view.settings, withSpec(pod, spec), info);
  return policy !== 'none' && entitledCpus(request) !== entitledCpus(ENTITLEMENTS[policy](pod, info));
}

function reduce({ annotations, ...spec }: PodSpec): PodSpec {
  return { ...spec, annotations: rememberedAnnotations(annotations) };
}
