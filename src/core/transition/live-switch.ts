import { excludesReserved, type Annotations } from '../annotations/annotations';
import { digestAnnotations } from '../annotations/decisive';
import { compareTexts } from '../text';
import { assignmentOf } from '../model/assignment';
import { infoOf, type Container } from '../model/container';
import { isAssigned } from '../model/pool-view';
import { namesIn } from '../model/names-of';
import type { NodeView } from '../model/node-view';
import { runtimeUidOf, type PodSpec } from '../model/pod-spec';
import { findSpec, resolvePod, type ResolvedPod } from '../model/spec-book';
import { wasLifted } from '../verdict/throttling';
import { conforms, wantsAfterAll } from './conforms';
import { mostDecisions, type Draft } from './draft';
import { entitle } from './entitlement';
import { placeContainer } from './place';

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
  for (const { container } of listRunning(draft, spec)) keepOffReserved(draft, spec.annotations, container);
  const waiting = listRunning(draft, spec).filter(
    (running) => !tried.has(running.container.id) && isToSwitch(draft, running),
  );
  const mayBeTogether = waiting.length > 1 && waiting.length <= mostDecisions(draft.model);
  if (mayBeTogether && !draft.spend(waiting.length)) {
    for (const { container } of waiting) letWait(draft, container);
    return;
  }
  if (mayBeTogether && draft.attempt(() => switchAll(draft, waiting)).ok) return;
  for (const running of waiting) {
    const { container } = running;
    // What was decided in vain together is decided once more, and counts as one.
    if (!mayBeTogether && !draft.spend(1)) {
      letWait(draft, container);
      continue;
    }
    tried.add(container.id);
    const done = draft.attempt(() => switchAll(draft, [running]));
    if (!done.ok) noteUnmet(draft, container, done.because);
  }
}

/** Who could not be switched before may be now: the pods of those, whoever waits longest first, but not whoever was `tried`. */
export function retrySwitches(draft: Draft, tried: Set<string>): void {
  const seen = new Set<PodSpec>();
  for (const container of listUnmet(draft.model)) {
    if (draft.isCut) return; // those behind in the line wait for the next transaction
    if (tried.has(container.id)) continue;
    const pod = draft.model.pods.get(container.sandboxId);
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

/** A container, and the pod that it runs in. */
interface Running {
  readonly pod: ResolvedPod;
  readonly container: Container;
}

/** The running containers of the pod, in the order of its spec. */
function listRunning({ model }: Draft, spec: PodSpec): Running[] {
  const order = new Map(spec.containers.map(({ name }, i) => [name, i]));
  const indexOf = ({ container: { name } }: Running): number => order.get(name) ?? order.size;
  const podUid = runtimeUidOf(spec);
  const pods = new Map(model.podsOf(podUid).map((pod) => [pod.sandboxId, resolvePod(model, pod)]));
  return model
    .containersOf(podUid)
    .flatMap((container) => {
      const pod = pods.get(container.sandboxId);
      return pod?.spec === spec ? [{ pod, container }] : [];
    })
    .sort((a, b) => indexOf(a) - indexOf(b) || compareTexts(a.container.id, b.container.id));
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
function isToSwitch(draft: Draft, { pod, container }: Running): boolean {
  const { model } = draft;
  const saying = digestAnnotations(pod.annotations, container.name);
  const isNew = saying !== (container.saying ?? '');
  if (isNew ? !conforms(model, pod, container) : wantsAfterAll(model, pod, container)) return true;
  if (!isNew && container.unmetSwitch === undefined) return false;
  for (const remark of entitle(model.settings, pod, infoOf(container)).remarks)
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
function switchAll(draft: Draft, running: readonly Running[]): Switched {
  const { model } = draft;
  const before = running.map(({ pod, container }) => ({
    pod,
    container,
    assignment: assignmentOf(model, container),
    wasLifted: wasLifted(model, container),
  }));
  for (const { assignment } of before)
    if (assignment) draft.put({ kind: 'put-assignment', assignment: { ...assignment, containerId: null } });
  for (const { pod, container, assignment, wasLifted } of before) {
    const switchedBecause = `the annotations of its pod say so since it runs (before: ${assignment?.kind ?? 'shared'})`;
    const placed = placeContainer(draft, pod, infoOf(container), { switchedBecause });
    if (placed.kind === 'refuse') return { ok: false, because: placed.message };
    const { told, recorded } = container;
    const quota = placed.liftQuota === wasLifted ? container.quota : placed.liftQuota ? 'lifted' : 'as-asked';
    const kept = { ...(told && { told }), ...(recorded && { recorded }), ...(quota && { quota }) };
    draft.put({ kind: 'put-container', container: { ...placed.container, ...kept, freshAssignment: false } });
  }
  // One alone joins the set that the others of its pod have, even if by now the scheduler chose another one.
  return running.every(({ pod, container: { id } }) => conforms(model, pod, model.containers.get(id)!))
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
