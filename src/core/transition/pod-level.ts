import { sharesOfMilli } from '../inference/cri-numbers';
import { asksForCpu, hasCpusOfPod } from '../inference/pod-level';
import { hasCgroup, type Container } from '../model/container';
import type { ContainerInfo, CpuResources, NodeEvent, PodInfo } from '../model/events';
import type { NodeView } from '../model/node-view';
import type { PodLevel } from '../model/pod-level';
import { findSpec, resolvePod } from '../model/spec-book';
import type { Draft } from './draft';
import { shareMistaken } from './live-switch';

// Pods with resources as a whole, where the API server does not send them. A container without a CPU limit of its own
// then looks like one that asks for all CPUs of its pod. It is found out when another container that asks for CPU runs
// beside it: together they ask for more than the pod.

/** Most containers whose processes are looked for at one creation, the newest first: the first that runs decides. */
const MAX_WITNESSES = 4;

type CreateContainer = Extract<NodeEvent, { kind: 'create-container' }>;

/**
 * Containers of the pod that would show, if they run while this one is created, that the pod has resources as a whole.
 * The model does not suffice: the end of an init container may be known later than the next creation.
 */
export function listWitnesses(view: NodeView, event: NodeEvent): Container[] {
  return event.kind === 'create-container' ? listWitnessesOf(view, event) : [];
}

function listWitnessesOf(view: NodeView, { pod, container }: Pick<CreateContainer, 'pod' | 'container'>): Container[] {
  if (!isOpen(view, pod) || !asksForCpu(container.resources)) return [];
  const isWitness = witnessTo(container, pod);
  const witnesses: Container[] = [];
  for (const other of view.containersOf(pod.uid).reverse()) {
    if (hasCgroup(other) && other.sandboxId === pod.sandboxId && isWitness(other)) witnesses.push(other);
    if (witnesses.length === MAX_WITNESSES) break;
  }
  return witnesses;
}

/** True when nothing has shown yet if the pod has resources as a whole. */
function isOpen(view: NodeView, pod: PodInfo): boolean {
  return asksForCpu(pod.podResources ?? {}) && !view.podLevel.has(pod.uid) && !findSpec(view, pod);
}

/** Selects the containers that ask for more than the pod together with this one. */
function witnessTo(container: ContainerInfo, { podResources }: PodInfo): (other: ContainerInfo) => boolean {
  const looksLikePod = hasCpusOfPod(container.resources, podResources);
  return ({ name, resources }) =>
    name !== container.name && (looksLikePod ? asksForCpu(resources) : hasCpusOfPod(resources, podResources));
}

/** Remembers a pod with resources as a whole, when containers of it were seen to run beside the one that is created. */
export function findAtCreation(
  draft: Draft,
  { pod, container, runsBeside }: Required<Pick<CreateContainer, 'pod' | 'container' | 'runsBeside'>>,
): void {
  if (runsBeside.length === 0) return;
  if (!listWitnessesOf(draft.model, { pod, container }).some(({ id }) => runsBeside.includes(id))) return;
  rememberWhole(draft, pod.uid, pod.podResources);
  shareAllMistaken(draft, [pod]);
}

/** The same for the containers of the runtime's lists: those that run, run at one time. */
export function findInLists(draft: Draft, pods: readonly PodInfo[], containers: readonly ContainerInfo[]): void {
  const open = new Map(pods.filter((pod) => isOpen(draft.model, pod)).map((pod) => [pod.sandboxId, pod]));
  const running = new Map<PodInfo, ContainerInfo[]>();
  for (const container of containers) {
    const pod = open.get(container.sandboxId);
    if (!pod || container.phase !== 'running') continue;
    const before = running.get(pod);
    if (before) before.push(container);
    else running.set(pod, [container]);
  }
  for (const [pod, ofPod] of running) {
    if (ofPod.some((container) => wasResized(draft.model, pod, container))) {
      noteResize(draft, pod);
      continue;
    }
    const alike = ofPod.find(({ resources }) => hasCpusOfPod(resources, pod.podResources));
    if (alike && ofPod.some(witnessTo(alike, pod))) rememberWhole(draft, pod.uid, pod.podResources);
  }
}

function keepQuota(draft: Draft, container: Container, sums: PodLevel): void {
  if (container.entitledCpus > 0 || container.quota !== undefined || !hasCpusOfPod(container.resources, sums)) return;
  if (container.placement === 'shared')
    draft.put({ kind: 'put-container', container: { ...container, quota: 'as-asked' } });
}

/**
 * True for a container that asks for another number of CPUs than it was given: it was resized while cpusetd did not see
 * it.
 */
function wasResized(
  view: NodeView,
  { uid: podUid }: PodInfo,
  { name, resources: { shares = 0 } }: ContainerInfo,
): boolean {
  const assignment = view.assignmentFor(podUid, name);
  return assignment !== undefined && shares !== sharesOfMilli(assignment.requested * 1000);
}

/** Remembers that a container of the pod was resized: the sums of its sandbox show nothing any more. */
export function noteResize(draft: Draft, pod: PodInfo): void {
  if (isOpen(draft.model, pod)) draft.put({ kind: 'put-pod-level', podLevel: { podUid: pod.uid, shown: 'resized' } });
}

/** Remembers a pod that was found to have resources as a whole, and these sums. */
export function rememberWhole(draft: Draft, podUid: string, { shares, quotaUs, periodUs }: CpuResources = {}): void {
  const podLevel: PodLevel = {
    podUid,
    shown: 'whole',
    ...(shares !== undefined && { shares }),
    ...(quotaUs !== undefined && { quotaUs }),
    ...(periodUs !== undefined && { periodUs }),
  };
  draft.put({ kind: 'put-pod-level', podLevel });
}

/**
 * Moves containers of such pods that were taken for others into the shared pool. One that was moved before a start of
 * cpusetd has its quota set again: the runtime may still have a record that lifts it, and what writes that record lifts
 * it in the kernel too.
 */
export function shareAllMistaken(draft: Draft, pods: readonly PodInfo[]): void {
  const { model } = draft;
  for (const sandbox of pods) {
    const pod = resolvePod(model, sandbox);
    if (!pod.podLevel) continue;
    for (const container of model.containersOf(pod.uid))
      if (container.sandboxId === pod.sandboxId && !shareMistaken(draft, { pod, container }))
        keepQuota(draft, container, pod.podLevel);
  }
}
