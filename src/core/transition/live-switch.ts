import { readAsked } from '../decision/asked';
import { excludesReserved } from '../annotations/annotations';
import { digestAnnotations } from '../annotations/decisive';
import { chooseLeaveAlone } from '../annotations/leave-alone';
import type { TopologyResult } from '../annotations/topology-result';
import type { Assignment, AssignmentKind } from '../model/assignment';
import { infoOf, type Container } from '../model/container';
import { namesIn } from '../model/names-of';
import type { NodeView } from '../model/node-view';
import { runtimeUidOf, type PodSpec } from '../model/pod-spec';
import { DEFAULT_KIND } from '../model/policies';
import { isAssigned, KINDS } from '../model/pool-view';
import type { Settings } from '../model/settings';
import { findSpec, resolvePod, type ResolvedPod } from '../model/spec-book';
import { entitle, looksLikePod, requestOf } from '../decision/entitlement';
import { isSpreadAs } from '../policy';
import { compareTexts } from '../text';
import { wasLifted } from '../verdict/throttling';
import { mostDecisions, type Draft } from './draft';
import { decidePlacement } from '../decision/decide';
import { placeContainer } from './place';

/**
 * Moves the running containers of a pod whose annotations have changed since the containers were placed. Only the API
 * server has the annotations of now; the runtime has those that the sandbox was created with.
 *
 * The containers are switched together if they all fit, else one by one. A container that does not fit stays where it
 * is, with the reason, and is tried again when its pod changes or CPUs become free (`retrySwitches`). The containers of
 * a pod that has more of them than one transaction decides on are switched one by one, in several transactions.
 */
export function switchPod(draft: Draft, spec: PodSpec, tried = new Set<string>()): void {
  const due = followAnnotations(draft, spec, tried);
  const mayBeTogether = due.length > 1 && due.length <= mostDecisions(draft.model);
  if (mayBeTogether && !draft.spend(due.length)) {
    for (const { container } of due) postpone(draft, container);
    return;
  }
  if (mayBeTogether && draft.attempt(() => switchAll(draft, due)).ok) return;
  for (const running of due) {
    const { container } = running;
    // After a failed switch of all together, the decisions are counted already.
    if (!mayBeTogether && !draft.spend(1)) {
      postpone(draft, container);
      continue;
    }
    tried.add(container.id);
    const done = draft.attempt(() => switchAll(draft, [running]));
    if (!done.ok) putUnmet(draft, container, done.because);
  }
}

/**
 * Tries the switches again that could not be made before, the longest unmet first. Containers in `tried` are left out.
 */
export function retrySwitches(draft: Draft, tried: Set<string>): void {
  const seen = new Set<PodSpec>();
  for (const container of listUnmet(draft.model)) {
    if (draft.isCut) return; // the rest is for the next transaction
    if (tried.has(container.id)) continue;
    const pod = draft.model.pods.get(container.sandboxId);
    const spec = pod && findSpec(draft.model, pod);
    if (!spec || seen.has(spec)) continue;
    seen.add(spec);
    switchPod(draft, spec, tried);
  }
}

/** Containers whose switch could not be made, the longest unmet first, then by id. */
function listUnmet({ containers, unswitched }: NodeView): Container[] {
  return [...unswitched]
    .map((id) => containers.get(id)!)
    .sort((a, b) => compareTexts(a.blockedSwitch!.since, b.blockedSwitch!.since) || compareTexts(a.id, b.id));
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

/**
 * Follows the annotations of the pod as far as no container has to move for it, with one change for each container: its
 * cost counts, since a pod may have hundreds. Returns the containers that have to move, those in `tried` left out.
 */
function followAnnotations(draft: Draft, spec: PodSpec, tried: ReadonlySet<string>): Running[] {
  const avoidsReserved = excludesReserved(spec.annotations);
  const due: Running[] = [];
  for (const running of listRunning(draft, spec)) {
    if (shareMistaken(draft, running)) continue;
    const { pod, container: before } = running;
    const container = keepOffReserved(before, avoidsReserved);
    const digest = digestAnnotations(pod.annotations, container.name);
    const isNew = digest !== (container.annotationDigest ?? '');
    const wasTried = tried.has(container.id);
    const isDue = !wasTried && isToSwitch(draft.model, pod, container, isNew);
    const isSettled = !wasTried && !isDue && (isNew || container.blockedSwitch !== undefined);
    const now = isSettled ? settle(draft, pod, container, digest) : container;
    if (now !== before) draft.put({ kind: 'put-container', container: now });
    if (isDue) due.push({ pod, container: now });
  }
  return due;
}

/** Follows the annotation that keeps a container off reserved CPUs. It matters only while the container shares. */
function keepOffReserved(container: Container, avoidsReserved: boolean): Container {
  if (container.leftAlone || avoidsReserved === (container.avoidsReserved ?? false)) return container;
  const { avoidsReserved: _before, ...rest } = container;
  // A container that is left alone has no promise, and nothing would move it.
  const placement = rest.placement === 'left-alone' ? 'shared' : rest.placement;
  return { ...rest, placement, ...(avoidsReserved && { avoidsReserved }) };
}

/** True for a container that the operator's rules leave out. One that came later leaves it the CPUs that it has. */
function isLeftAloneNow(view: NodeView, pod: ResolvedPod, { name }: Container): boolean {
  return chooseLeaveAlone(view.settings, pod.sandbox, name).leaves?.part === 'all';
}

/** True when a container has to move. `isNew`: its pod's annotations say something else than those that it follows. */
function isToSwitch(view: NodeView, pod: ResolvedPod, container: Container, isNew: boolean): boolean {
  if (isLeftAloneNow(view, pod, container)) return false;
  return isNew ? !matchesAnnotations(view, pod, container) : becameEntitled(view, pod, container);
}

/** The container that has what its annotations ask for: from now on they count as followed. */
function settle(draft: Draft, pod: ResolvedPod, container: Container, annotationDigest: string): Container {
  const { model } = draft;
  for (const remark of entitle(model.settings, pod, infoOf(container)).remarks)
    draft.report({ kind: 'annotation-ignored', subject: namesIn(model, container), ...remark });
  const { blockedSwitch: _unmet, annotationDigest: before = '', waitingSince, ...rest } = container;
  // A container that waited for CPUs, and whose annotations ask for the shared pool now, waits no longer.
  const isServed = annotationDigest !== before && !isAssigned(container);
  const waits =
    waitingSince !== undefined &&
    (isServed ? { because: 'shares: the annotations of its pod say so' } : { waitingSince });
  return { ...rest, ...waits, ...(annotationDigest !== '' && { annotationDigest }) };
}

type Switched = { readonly ok: true } | { readonly ok: false; readonly because: string };

/**
 * Places all of these containers again, or none. Their CPUs are idle in the pod meanwhile: they may keep them, or
 * exchange them.
 */
function switchAll(draft: Draft, running: readonly Running[]): Switched {
  const { model } = draft;
  const placed = placeAgain(draft, running, 'the annotations of its pod say so since it runs');
  if (!placed.ok) return placed;
  // A container that is switched alone joins the set of its pod, even if the scheduler has chosen another one since.
  return running.every(({ pod, container: { id } }) => matchesAnnotations(model, pod, model.containers.get(id)!))
    ? { ok: true }
    : { ok: false, because: 'other containers of its pod stay on the CPUs that they share with it' };
}

/** Places running containers anew. `why`: for the operator. */
function placeAgain(draft: Draft, running: readonly Running[], why: string): Switched {
  const { model } = draft;
  const before = running.map(({ pod, container }) => ({
    pod,
    container,
    assignment: model.assignmentOf(container),
    wasLifted: wasLifted(model, container),
  }));
  for (const { assignment } of before)
    if (assignment) draft.put({ kind: 'put-assignment', assignment: { ...assignment, containerId: null } });
  for (const { pod, container, assignment, wasLifted } of before) {
    const switchedBecause = `${why} (before: ${assignment?.kind ?? 'shared'})`;
    const info = infoOf(container);
    // For lack of CPUs it is refused, and does not share.
    const decided = decidePlacement(model, readAsked(model, pod, info), { mayShare: false });
    const placed = placeContainer(draft, pod, info, decided, { switchedBecause });
    if (placed.kind === 'refuse') return { ok: false, because: placed.message };
    const { applied, runtimeRecord } = container;
    const quota = placed.liftQuota === wasLifted ? container.quota : placed.liftQuota ? 'lifted' : 'as-asked';
    const kept = { ...(applied && { applied }), ...(runtimeRecord && { runtimeRecord }), ...(quota && { quota }) };
    draft.put({ kind: 'put-container', container: { ...placed.container, ...kept, freshAssignment: false } });
  }
  return { ok: true };
}

/**
 * Moves a running container into the shared pool that was taken for one with CPUs of its own: its pod has resources as
 * a whole, which is known now. True when it moved.
 */
export function shareMistaken(draft: Draft, running: Running): boolean {
  if (!isMistaken(draft.model, running)) return false;
  const why = 'it was taken for a container that asks for all CPUs of its pod';
  return draft.attempt(() => placeAgain(draft, [running], why)).ok;
}

/**
 * True when it has, or waits for, CPUs of its own by a message with the numbers of its pod, and is to share by what is
 * known of that now.
 */
function isMistaken(view: NodeView, { pod, container }: Running): boolean {
  const isPodLevel = pod.podLevel !== undefined || pod.spec?.podResources !== undefined;
  if (container.entitledCpus === 0 || !isPodLevel || !looksLikePod(pod, container)) return false;
  if (isLeftAloneNow(view, pod, container)) return false;
  const kind = view.assignmentOf(container)?.kind ?? DEFAULT_KIND;
  return requestOf(pod, infoOf(container), kind).kind === 'shared';
}

/** Leaves a switch to the next transaction. It is not reported, since that follows at once. */
function postpone(draft: Draft, container: Container): void {
  if (container.blockedSwitch) return;
  const blockedSwitch = { because: 'its turn has not come yet', since: draft.now };
  draft.put({ kind: 'put-container', container: { ...container, blockedSwitch } });
}

function putUnmet(draft: Draft, container: Container, because: string): void {
  if (container.blockedSwitch?.because === because) return;
  const since = container.blockedSwitch?.since ?? draft.now;
  draft.put({ kind: 'put-container', container: { ...container, blockedSwitch: { because, since } } });
  draft.report({ kind: 'not-switched', subject: namesIn(draft.model, container), because });
}

/**
 * True when a running container has what its pod's annotations ask for. An assignment that was made under other rules
 * of the operator matches too: only a change of the pod moves a running container.
 */
function matchesAnnotations(view: NodeView, pod: ResolvedPod, container: Container): boolean {
  const assignment = view.assignmentOf(container);
  const desired = desiredOf(view, pod, container, view.settings);
  if (desired?.kind === assignment?.kind) return !assignment || followsSchedule(view, assignment, desired?.scheduled);
  return (
    assignment !== undefined &&
    desiredOf(view, pod, container, settingsThen(view.settings, assignment))?.kind === assignment.kind
  );
}

/** True when a container was placed by its message, shares, and is entitled to CPUs by the spec that is known now. */
function becameEntitled(view: NodeView, pod: ResolvedPod, container: Container): boolean {
  return (
    container.entitledCpus === 0 &&
    !isAssigned(container) &&
    desiredOf(view, pod, container, view.settings) !== undefined
  );
}

/** The assignment that the annotations ask for; undefined = a place in the shared pool. */
interface DesiredPlacement {
  readonly kind: AssignmentKind;
  readonly scheduled?: TopologyResult;
}

function desiredOf(
  view: NodeView,
  pod: ResolvedPod,
  container: Container,
  settings: Settings,
): DesiredPlacement | undefined {
  const info = infoOf(container);
  const {
    chosen: { policy },
    request,
    choice: { whole: scheduled },
  } = readAsked({ settings, topology: view.topology }, pod, info);
  if (policy === 'none' || request.kind !== 'exclusive') return undefined;
  if (scheduled?.size === 0) return undefined;
  return { kind: policy, ...(scheduled && { scheduled }) };
}

/** True when an assignment has the CPUs, or the NUMA nodes, that the scheduler chose. */
function followsSchedule(
  { topology }: NodeView,
  { kind, cpus, nodes, scope }: Assignment,
  scheduled: TopologyResult | undefined,
): boolean {
  if (KINDS[kind].claim === 'numa-nodes')
    return !scheduled || (nodes?.size === scheduled.size && [...scheduled.keys()].every((node) => nodes.has(node)));
  return scheduled ? scope === 'pod' && isSpreadAs(topology, cpus, scheduled) : scope === undefined;
}

/** The settings that an assignment was made under, as far as it has them. */
function settingsThen(settings: Settings, { rules }: Assignment): Settings {
  const policy = rules.policy;
  return rules.chosenBy === undefined
    ? { ...settings, cpuManagerPolicy: policy }
    : { ...settings, podPolicies: [...(settings.podPolicies ?? []), policy] };
}
