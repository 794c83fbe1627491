import { readAsked } from '../decision/asked';
import type { Assignment } from '../model/assignment';
import type { Container } from '../model/container';
import type { NodeView } from '../model/node-view';
import { findContainerSpec, type ContainerSpec, type PodSpec } from '../model/pod-spec';
import { KINDS } from '../model/pool-view';
import { findSpec, resolvePod } from '../model/spec-book';
import { entitledBySpec } from '../decision/entitlement';
import { compareTexts } from '../text';
import { isNameHeld } from './adopt';
import { decidePlacement } from '../decision/decide';
import type { Draft } from './draft';
import { retrySwitches } from './live-switch';
import { release } from './lifecycle';
import { placeContainer } from './place';
import { planPending } from './pending-pods';

/**
 * Follows every event, and every list of the runtime: gives back idle CPUs, and assigns freed CPUs to containers that
 * lack some.
 */
export function reassignFreed(draft: Draft): void {
  releaseIdle(draft);
  if (draft.isDurable || draft.hasUnplanned) retryPending(draft); // else no CPUs were given back
}

/**
 * Assigns free CPUs to what lacks some: first to running containers that are entitled to CPUs, then to containers that
 * have to be switched, then to pods whose containers are to come. In each group the longest waiting comes first; one
 * that does not fit is skipped.
 *
 * One transaction makes at most `mostDecisions` decisions; `draft.isCut` is true when some are left. `tried`: ids that
 * were decided on before and are left out; new ones are added.
 */
export function retryPending(draft: Draft, tried = new Set<string>()): void {
  placeWaiting(draft, tried);
  retrySwitches(draft, tried);
  planPending(draft, tried);
}

/** True when a container or a pod lacks CPUs. */
export function hasPending(view: NodeView): boolean {
  return view.unplanned.size > 0 || view.waiting.size > 0 || view.unswitched.size > 0;
}

/**
 * Places running containers that wait for CPUs, by the policy for new containers and with its floors. A container that
 * asks for less may be placed before one that asks for more than there is. CPUs that lie idle in a pod stay there, for
 * the containers that had them.
 */
function placeWaiting(draft: Draft, tried: Set<string>): void {
  for (const waiting of listWaiting(draft.model)) {
    const known = draft.model.pods.get(waiting.sandboxId);
    if (!known || known.stopped || tried.has(waiting.id)) continue;
    if (!draft.spend(1)) return;
    tried.add(waiting.id);
    const pod = resolvePod(draft.model, known);
    const decided = decidePlacement(draft.model, readAsked(draft.model, pod, waiting, { runs: true }));
    if (isNameHeld(draft.model, pod, waiting) || decided.decision.kind !== 'pin') continue;
    const placed = placeContainer(draft, pod, waiting, decided, { waitedSince: waiting.waitingSince! });
    if (placed.kind === 'refuse') continue;
    const { applied, runtimeRecord } = waiting; // the runtime and the kernel still have the cpuset of before
    draft.put({
      kind: 'put-container',
      container: {
        ...placed.container,
        ...(applied && { applied }),
        ...(runtimeRecord && { runtimeRecord }),
        ...(placed.liftQuota && { quota: 'lifted' as const }),
      },
    });
  }
}

/** Containers that wait for CPUs, the longest waiting first, then by id. */
function listWaiting({ containers, waiting }: NodeView): Container[] {
  return [...waiting]
    .map((id) => containers.get(id)!)
    .sort((a, b) => compareTexts(a.waitingSince!, b.waitingSince!) || compareTexts(a.id, b.id));
}

/**
 * Gives back CPUs that lie idle in a pod as soon as no container of the pod can need them: the container that had them
 * has ended for good, and every container still to come has CPUs of its own or is not entitled to any. Without the
 * pod's spec this is never certain, and the CPUs stay until the pod goes.
 *
 * The answer depends on the pod alone, so only pods that the draft has changed are looked at.
 */
function releaseIdle(draft: Draft): void {
  const { model } = draft;
  if (model.podSpecs.size === 0) return;
  for (const podUid of draft.podUids) {
    const idle = model.assignmentsOf(podUid).filter(({ containerId }) => containerId === null);
    // An imported assignment has the uid only.
    const spec = idle
      .map(({ podNamespace: namespace, podName: name }) => findSpec(model, { uid: podUid, namespace, name }))
      .find((found) => found !== undefined);
    if (!spec) continue;
    const mayNeed = neededIn(model, spec, podUid);
    for (const assignment of idle)
      if (!mayNeed(assignment))
        release(draft, assignment, 'the container has ended, and no other one of its pod can need its CPUs any more');
  }
}

/** Makes a function that is true for an idle assignment whose CPUs a container of the pod may still need. */
function neededIn(view: NodeView, spec: PodSpec, podUid: string): (idle: Assignment) => boolean {
  const living = new Set(view.containersOf(podUid).map(({ name }) => name));
  if (spec.finished) return ({ containerName }) => living.has(containerName);
  // App containers are created when all init containers have ended, even if the API server does not say so yet.
  const appsBegan = spec.containers.some(({ name, kind, ended }) => kind === 'app' && (ended || living.has(name)));
  const isOver = ({ kind, ended }: ContainerSpec): boolean => ended || (kind === 'init' && appsBegan);
  const anyLacks = spec.containers.some(
    (container) => !isOver(container) && !living.has(container.name) && lacksCpus(view, spec, podUid, container),
  );
  return ({ containerName }) => {
    const had = findContainerSpec(spec, containerName);
    return anyLacks || !had || living.has(containerName) || !isOver(had);
  };
}

/**
 * True when a container that is still to come is entitled to CPUs and does not have as many of its own: another
 * container of its pod may have taken some.
 */
function lacksCpus(view: NodeView, spec: PodSpec, podUid: string, container: ContainerSpec): boolean {
  const entitled = entitledBySpec(view.settings, spec, container);
  if (!entitled) return false;
  const { policy, count } = entitled;
  const own = view.assignmentFor(podUid, container.name);
  if (own?.kind !== policy || own.requested < count) return true;
  return KINDS[policy].claim !== 'numa-nodes' && own.scope === undefined && own.cpus.size < count;
}
