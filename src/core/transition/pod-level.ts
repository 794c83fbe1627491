import { asksForCpu, hasNumbersOfPod } from '../inference/pod-level';
import { hasCgroup, type Container } from '../model/container';
import type { ContainerInfo, NodeEvent, PodInfo } from '../model/events';
import type { NodeView } from '../model/node-view';
import { toPodLevel } from '../model/pod-level';
import { findSpec, resolvePod } from '../model/spec-book';
import type { Draft } from './draft';
import { shareMistaken } from './live-switch';

// Pods with resources as a whole, where the API server does not tell of them. A container without a CPU limit of its own then looks like one that
// asks for all CPUs of its pod. It is found out when another container that asks for CPU runs beside it: together they ask for more than the pod.

/** Most containers whose processes are looked for at one creation: the first that runs decides. */
const MAX_WITNESSES = 4;

/**
 * Containers of the pod that would show, if they run while this one is created, that the pod has resources as a whole. The model does not suffice:
 * the end of an init container may be known later than the next creation.
 */
export function listWitnesses(view: NodeView, event: NodeEvent): Container[] {
  if (event.kind !== 'create-container') return [];
  const { pod, container } = event;
  if (!isOpen(view, pod) || !asksForCpu(container.resources)) return [];
  const isWitness = witnessTo(container, pod);
  const witnesses: Container[] = [];
  for (const other of view.containersOf(pod.uid)) {
    if (hasCgroup(other) && other.sandboxId === pod.sandboxId && isWitness(other)) witnesses.push(other);
    if (witnesses.length === MAX_WITNESSES) break;
  }
  return witnesses;
}

/** True when nothing tells yet if the pod has resources as a whole. */
function isOpen(view: NodeView, pod: PodInfo): boolean {
  return asksForCpu(pod.podResources ?? {}) && !view.podLevel.has(pod.uid) && !findSpec(view, pod);
}

/** Selects the containers that ask for more than the pod together with this one. */
function witnessTo(container: ContainerInfo, { podResources }: PodInfo): (other: ContainerInfo) => boolean {
  const looksLikePod = hasNumbersOfPod(container.resources, podResources);
  return ({ name, resources }) =>
    name !== container.name && (looksLikePod ? asksForCpu(resources) : hasNumbersOfPod(resources, podResources));
}

/** Remembers a pod with resources as a whole, when containers of it were seen to run beside the one that is created. */
export function findAtCreation(
  draft: Draft,
  { pod, container, runsBeside = [] }: Extract<NodeEvent, { kind: 'create-container' }>,
): void {
  if (runsBeside.length === 0) return;
  const witnesses = listWitnesses(draft.model, { kind: 'create-container', pod, container });
  if (!witnesses.some(({ id }) => runsBeside.includes(id))) return;
  remember(draft, pod);
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
    const alike = ofPod.find(({ resources }) => hasNumbersOfPod(resources, pod.podResources));
    if (alike && ofPod.some(witnessTo(alike, pod))) remember(draft, pod);
  }
}

function remember(draft: Draft, { uid, podResources }: PodInfo): void {
  draft.put({ kind: 'put-pod-level', podLevel: toPodLevel(uid, podResources) });
}

/** Moves containers of such pods that were taken for others into the shared pool. */
export function shareAllMistaken(draft: Draft, pods: readonly PodInfo[]): void {
  const { model } = draft;
  for (const sandbox of pods) {
    if (!model.podLevel.has(sandbox.uid)) continue;
    const pod = resolvePod(model, sandbox);
    for (const container of model.containersOf(pod.uid))
      if (container.sandboxId === pod.sandboxId) shareMistaken(draft, { pod, container });
  }
}
