import { excludesReserved, digestAnnotations, type Annotations } from '../annotations';
import { compareTexts } from '../text';
import type { Container } from '../model/container';
import { findSpec, runtimeUidOf } from '../model/find-spec';
import { isAssigned } from '../model/pool-view';
import { namesIn } from '../model/names-of';
import type { NodeView } from '../model/node-model';
import type { PodSpec } from '../model/pod-spec';
import { wasLifted } from '../verdict/throttling';
import { conforms, infoOf, ownAssignmentOf, podOf, wantsAfterAll } from './conforms';
import { mostDecisions, type Draft } from './draft';
import { placeContainer } from './place-container';
import { entitle } from './placement';

/**
 * Moves running containers of a pod whose annotations say something else by now than the containers were placed by: at
 * once, with that as the reason. Only the API server tells what annotations say now; the runtime tells those that
 * the sandbox was made with.
 *
 * Containers of a pod are switched together if they can be, else one by one. One that can't be stays where it is, with the
 * reason, and is tried again when something of its pod changes or CPUs come back (`retrySwitches`). Those of a pod that has
 * more of them than one transaction decides on are switched one by one, and those beyond wait for their turn.
 */
export function switchPod(draft: Draft, spec: PodSpec, tried = new Set<string>()): void {
  for (const container of containersOf(draft, spec)) keepOffReserved(draft, spec.annotations, container);
  const waiting = containersOf(draft, spec).filter(
    (container) => !tried.has(container.id) && isToSwitch(draft, spec.annotations, container),
  );
  const mayBeTogether = waiting.length > 1 && waiting.length <= mostDecisions(draft.model);
  if (mayBeTogether && !draft.spend(waiting.length)) {
    for (const container of waiting) letWait(draft, container);
    return;
  }
  if (mayBeTogether && draft.attempt(() => switchAll(draft, waiting)).ok) return;
  for (const container of waiting) {
    // What was decided in vain together is decided once more, and counts as one.
    if (!mayBeTogether && !draft.spend(1)) {
      letWait(draft, container);
      continue;
    }
    tried.add(container.id);
    const done = draft.attempt(() => switchAll(draft, [container]));
    if (!done.ok) noteUnmet(draft, container, done.because);
  }
}

/** Who could not be switched before may be now: the pods of those, whoever waits longest first, but not whoever was `tried`. */
export function retrySwitches(draft: Draft, tried: Set<string>): void {
  const seen = new Set<PodSpec>();
  for (const container of listUnmet(draft.model)) {
    if (draft.isCut) return; // those behind in the line wait for the next transaction
    if (tried.has(container.id)) continue;
    const pod = podOf(draft.model, container);
    const spec = pod && findSpec(draft.model, pod);
    if (!spec || seen.has(spec)) continue;
    seen.add(spec);
    switchPod(draft, spec, tried);
  }
}

/** Those whose switch could not be made, longest first; of those that came at once the one with the lowest id. */
export function listUnmet({ containers, unswitched }: NodeView): Container[] {
  return [...unswitched]
    .map((id) => containers.get(id)!)
    .sort((a, b) => compareTexts(a.unmetSwitch!.since, b.unmetSwitch!.since) || compareTexts(a.id, b.id));
}

/** Pods are decided on in the same order, whatever the order in which they are told. */
export function byUid(a: PodSpec, b: PodSpec): number {
  return a.uid < b.uid ? -1 : 1;
}

/** What runs of the pod, in the order of its spec. */
function containersOf({ model }: Draft, spec: PodSpec): Container[] {
  const order = new Map(spec.containers.map(({ name }, i) => [name, i]));
  const placeOf = ({ name }: Container): number => order.get(name) ?? order.size;
  return model
    .containersOf(runtimeUidOf(spec))
    .filter((container) => {
      const pod = podOf(model, container);
      return pod !== undefined && findSpec(model, pod) === spec;
    })
    .sort((a, b) => placeOf(a) - placeOf(b) || (a.id < b.id ? -1 : 1));
}

/** Who is to be kept off reserved CPUs: that decides only where it shares. */
function keepOffReserved(draft: Draft, annotations: Annotations, container: Container): void {
  const avoids = excludesReserved(annotations);
  if (avoids === (container.avoidsReserved ?? false)) return;
  const { avoidsReserved: _before, ...rest } = container;
  // Left alone it has no promise yet, and nothing would move it.
  const placement = rest.placement === 'left-alone' ? 'shared' : rest.placement;
  const now = { ...rest, placement, ...(avoids && { avoidsReserved: true as const }) };
  draft.put({ kind: 'put-container', container: now });
}

/** Whether it has to move. If it has what it should have by now, that is remembered, and nothing is left to be done. */
function isToSwitch(draft: Draft, annotations: Annotations, container: Container): boolean {
  const { model } = draft;
  const saying = digestAnnotations(annotations, container.name);
  const isNew = saying !== (container.saying ?? '');
  if (isNew ? !conforms(model, container) : wantsAfterAll(model, container)) return true;
  if (!isNew && container.unmetSwitch === undefined) return false;
  const pod = podOf(model, container)!;
  for (const remark of entitle(model, pod, infoOf(container)).remarks)
    draft.report({ kind: 'annotation-ignored', who: namesIn(draft.model, container), ...remark });
  const {
    unmetSwitch: _none,
    saying: _before,
    ...rest
  } = isNew && !isAssigned(container) ? stopWaiting(container) : container;
  draft.put({ kind: 'put-container', container: { ...rest, ...(saying !== '' && { saying }) } });
  return false;
}

/** It has what it wants, and that is a place in the shared pool. */
function stopWaiting({ waitsSince, ...container }: Container): Container {
  return waitsSince === undefined ? container : { ...container, because: 'shares: the annotations of its pod say so' };
}

type Switched = { readonly ok: true } | { readonly ok: false; readonly because: string };

/** All of them or none. What they have is their pod's in between: they may keep it, or take it from each other. */
function switchAll(draft: Draft, containers: readonly Container[]): Switched {
  const { model } = draft;
  const before = containers.map((container) => ({
    container,
    assignment: ownAssignmentOf(model, container),
    wasLifted: wasLifted(model, container),
  }));
  for (const { assignment } of before)
    if (assignment) draft.put({ kind: 'put-assignment', assignment: { ...assignment, containerId: null } });
  for (const { container, assignment, wasLifted } of before) {
    const switchedBecause = `the annotations of its pod say so since it runs (before: ${assignment?.kind ?? 'shared'})`;
    const placed = placeContainer(draft, podOf(model, container)!, infoOf(container), { switchedBecause });
    if (placed.kind === 'refuse') return { ok: false, because: placed.message };
    const { told, recorded } = container;
    const quota = placed.liftQuota === wasLifted ? container.quota : placed.liftQuota ? 'lifted' : 'as-asked';
    const kept = { ...(told && { told }), ...(recorded && { recorded }), ...(quota && { quota }) };
    draft.put({ kind: 'put-container', container: { ...placed.container, ...kept, freshAssignment: false } });
  }
  // One alone joins the set that the others of its pod have, even if by now the scheduler chose another one.
  return containers.every(({ id }) => conforms(model, model.containers.get(id)!))
    ? { ok: true }
    : { ok: false, because: 'other containers of its pod stay on the CPUs that they share with it' };
}

/** Not worth a line: its turn comes at once. */
function letWait(draft: Draft, container: Container): void {
  if (container.unmetSwitch) return;
  const unmetSwitch = { because: 'its turn has not come yet', since: draft.now };
  draft.put({ kind: 'put-container', container: { ...container, unmetSwitch } });
}

function noteUnmet(draft: Draft, container: Container, because: string): void {
  if (container.unmetSwitch?.because === because) return;
  const since = container.unmetSwitch?.since ?? draft.now;
  draft.put({ kind: 'put-container', container: { ...container, unmetSwitch: { because, since } } });
  draft.report({ kind: 'not-switched', who: namesIn(draft.model, container), because });
}
