import type { HugePages } from '../huge-pages';
import type { Assignment } from './assignment';
import type { ContainerInfo } from './events';
import type { NodeView } from './node-view';
import { specOfPod } from './pod-presence';
import { findContainerSpec, runtimeUidOf, type PodSpec } from './pod-spec';
import { KINDS } from './pool-view';
import type { AskingContainer } from './promised-huge-pages';

/**
 * The huge pages that a container asks for: those of its message, else those of its pod's spec. containerd leaves them out of its messages unless
 * its operator sets `disable_hugetlb_controller` to false.
 */
export function askedHugePages(
  spec: PodSpec | undefined,
  { name, resources }: Pick<ContainerInfo, 'name' | 'resources'>,
): HugePages | undefined {
  return resources.hugePages ?? findContainerSpec(spec, name)?.limitHugePages;
}

/** What may ask for huge pages: containers by what the runtime tells, pods by their specs. */
export interface AskingKeys {
  readonly containers: Iterable<string>;
  readonly specs: Iterable<string>;
}

/** Finds all containers that ask for huge pages, those of `except` left out: that run, or that are to come and have their CPUs. */
export function listAsking(
  view: NodeView,
  { containers, specs }: AskingKeys,
  except?: Pick<Assignment, 'podUid' | 'containerName'>,
): readonly AskingContainer[] {
  const isExcept = (podUid: string, name: string) => podUid === except?.podUid && name === except.containerName;
  const ids = new Set(containers);
  const asking: AskingContainer[] = [];
  for (const podUid of new Set([...specs].flatMap((uid) => [uid, runtimeUidOf(view.podSpecs.get(uid)!)]))) {
    // The annotations of a mirror can be forged: this says which spec the pod has.
    const spec = specOfPod(view, podUid);
    for (const { id } of view.containersOf(podUid)) ids.add(id);
    for (const { kind, containerName, containerId, planned, cpus, mems } of view.assignmentsOf(podUid)) {
      const isToCome = containerId === null ? planned : !view.containers.has(containerId);
      const hugePages = isToCome ? findContainerSpec(spec, containerName)?.limitHugePages : undefined;
      if (hugePages && !isExcept(podUid, containerName))
        asking.push({ placement: KINDS[kind].placement, promise: { cpus, mems }, hugePages });
    }
  }
  for (const id of ids) {
    const container = view.containers.get(id)!;
    const hugePages = askedHugePages(specOfPod(view, container.podUid), container);
    if (hugePages && !isExcept(container.podUid, container.name)) asking.push({ ...container, hugePages });
  }
  return asking;
}
