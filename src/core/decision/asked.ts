import { MAX_SHARES, milliOfShares } from '../inference/cri-numbers';
import { askedHugePages } from '../model/asked-huge-pages';
import type { Assignment } from '../model/assignment';
import type { ContainerInfo } from '../model/events';
import type { NodeView } from '../model/node-view';
import { findContainerSpec } from '../model/pod-spec';
import type { Settings } from '../model/settings';
import type { ResolvedPod } from '../model/spec-book';
import type { PinRequest } from '../policy';
import { countHeldBySpec, entitle, podMilliCpuOf, withoutSum, type Entitled } from './entitlement';
import { NO_CHOICE, readChoice, type ScheduledChoice } from './scheduled-choice';

/**
 * All that a container asks for, read once from its message, its pod's spec and annotations. Decisions on it read
 * nothing else of the pod.
 */
export interface Asked extends Entitled, Circumstances {
  readonly podUid: string;
  readonly containerName: string;
  /** Its pod's spec is known, and names it. */
  readonly isInSpec: boolean;
  /** The amounts of one that is entitled to CPUs of its own; absent for others. */
  readonly amounts?: PinRequest;
  readonly choice: ScheduledChoice;
}

/** The circumstances in which it asks. */
interface Circumstances {
  /**
   * It runs already. CPUs that lie idle in its pod are not for it: the containers that had them may come back. The sum
   * that its pod announced may be older than its own numbers. It is refused when it does not fit.
   */
  readonly runs: boolean;
  /**
   * The assignment that it has, where it asks for another number of CPUs. It keeps these CPUs, and the policy that gave
   * them.
   */
  readonly held?: Assignment;
}

/** Reads what a container asks for. By default it is about to be created. */
export function readAsked(
  { settings, topology }: Pick<NodeView, 'settings' | 'topology'>,
  pod: ResolvedPod,
  container: ContainerInfo,
  { held, runs = held !== undefined }: { readonly held?: Assignment | undefined; readonly runs?: boolean } = {},
): Asked {
  const now = runs ? withoutSum(pod) : pod;
  const entitled = entitle(settings, now, container, held);
  const { chosen, request } = entitled;
  const asked = {
    ...entitled,
    podUid: pod.uid,
    containerName: container.name,
    isInSpec: findContainerSpec(pod.spec, container.name) !== undefined,
    runs,
    ...(held && { held }),
    choice: NO_CHOICE,
  };
  if (request.kind !== 'exclusive') return asked;
  const { count } = request;
  const podMilliCpu = podMilliCpuOf(now, chosen.policy);
  const amounts = readAmounts(settings, pod, container, { count, podMilliCpu });
  const asking = { name: container.name, policy: chosen.policy, count, podMilliCpu };
  const choice = held ? NO_CHOICE : readChoice({ settings, topology }, now, asking);
  return { ...asked, amounts, choice };
}

/** Numbers of a container with CPUs of its own, and of its pod. */
interface Counts {
  readonly count: number;
  /** The request of its pod as it is now, in thousandths of a CPU; undefined when it is not known. */
  readonly podMilliCpu: number | undefined;
}

/** The amounts that a container with CPUs of its own asks for. */
function readAmounts(settings: Settings, pod: ResolvedPod, container: ContainerInfo, counts: Counts): PinRequest {
  const podCount = podCountOf(settings, pod, counts);
  const hugePages = askedHugePages(pod.spec, container);
  return {
    count: counts.count,
    ...(podCount !== undefined && { podCount }),
    memoryBytes: container.resources.memoryLimitBytes ?? 0,
    ...(hugePages && { hugePages }),
  };
}

/**
 * Whole CPUs of all containers of the pod together, as far as they are known; undefined when neither a spec nor the
 * runtime has sent its sum. The runtime's has those of containers that take none, too.
 */
function podCountOf(settings: Settings, pod: ResolvedPod, { count, podMilliCpu }: Counts): number | undefined {
  if (pod.spec) return Math.max(count, countHeldBySpec(settings, pod.spec));
  if ((pod.podResources?.shares ?? 0) === 0) return undefined;
  return Math.max(count, Math.floor((podMilliCpu ?? milliOfShares(MAX_SHARES)) / 1000));
}
