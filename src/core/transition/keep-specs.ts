import { choosePolicy, decisiveAnnotations, sayingOf } from '../annotations';
import { findSpec } from '../model/find-spec';
import { isAssigned } from '../model/kinds';
import type { Container, Pod } from '../model/container';
import type { NodeView } from '../model/node-model';
import type { NodeEvent } from '../model/pod-event';
import type { PodSpec } from '../model/pod-spec';
import { ENTITLEMENTS } from '../policy';
import type { CpuRequest } from '../inference';
import { infoOf } from './conforms';
import type { Draft } from './draft';
import { requestOf } from './request-of';

/**
 * Keeps on disk what the API server told of a pod, as long as forgetting it would change what a container of the pod has: its
 * annotations have changed since the sandbox was made, or a container shares although its message looks entitled. So a
 * restart while the API server is away moves nobody. Of all other pods the runtime tells enough, and nothing is written.
 */
export function keepSpecs(draft: Draft, event: NodeEvent): void {
  const { model } = draft;
  if (!model.synchronized) return; // which pods there are is not known yet
  for (const pod of podsOf(model, event)) {
    const spec = findSpec(model, pod);
    if (!spec || !isNeeded(model, pod, spec)) continue;
    const kept = reduce(spec);
    const before = model.keptSpecs.get(kept.uid);
    if (!before || JSON.stringify(before) !== JSON.stringify(kept)) draft.put({ kind: 'keep-spec', spec: kept });
  }
  if (model.keptSpecs.size > 0) forgetNeedless(draft);
}

/** The pods about which the event may have changed it; of most events none, and they cost no look at all pods. */
function podsOf(view: NodeView, event: NodeEvent): Pod[] {
  const living = (): Pod[] => [...view.pods.values()].filter(({ stopped }) => !stopped);
  switch (event.kind) {
    case 'synchronize':
    case 'pod-specs':
      return living();
    case 'pod-spec':
      return living().filter((pod) => findSpec(view, pod)?.uid === event.spec.uid);
    // Not with the creation itself: that must not fail because the disk is full.
    case 'container-created':
    case 'container-starting':
    case 'container-started': {
      const pod = view.pods.get(event.pod.sandboxId);
      return pod && !pod.stopped ? [pod] : [];
    }
    default:
      return [];
  }
}

function forgetNeedless(draft: Draft): void {
  const { model } = draft;
  const needed = new Set<string>();
  for (const pod of model.pods.values()) {
    const kept = pod.stopped ? undefined : findSpec({ podSpecs: model.keptSpecs }, pod);
    if (!kept) continue;
    const spec = findSpec(model, pod);
    // What still runs of a pod that the API server has no more keeps what it has.
    if (!spec || (spec.uid === kept.uid && isNeeded(model, pod, spec))) needed.add(kept.uid);
  }
  for (const uid of [...model.keptSpecs.keys()]) if (!needed.has(uid)) draft.put({ kind: 'unkeep-spec', uid });
}

function isNeeded(view: NodeView, pod: Pod, spec: PodSpec): boolean {
  if (spec.containers.some(({ name }) => sayingOf(spec.annotations, name) !== sayingOf(pod.annotations, name)))
    return true;
  for (const container of view.containers.values())
    if (container.sandboxId === pod.sandboxId && !isAssigned(container) && looksOtherwise(view, pod, spec, container))
      return true;
  return false;
}

/** Whether its message alone would entitle a container that shares to another number of CPUs. */
function looksOtherwise(view: NodeView, pod: Pod, spec: PodSpec, container: Container): boolean {
  const { policy } = choosePolicy(view.settings, spec.annotations, container.name);
  if (policy === 'none') return false;
  const info = infoOf(container);
  return countOf(requestOf(view, pod, info, policy)) !== countOf(ENTITLEMENTS[policy](pod, info));
}

function countOf(request: CpuRequest): number {
  return request.kind === 'exclusive' ? request.count : 0;
}

function reduce({ annotations, ...spec }: PodSpec): PodSpec {
  return {
    ...spec,
    annotations: decisiveAnnotations(
      annotations,
      spec.containers.map(({ name }) => name),
    ),
  };
}
