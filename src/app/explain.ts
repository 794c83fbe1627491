import type { ContainerStatus, ExplainQuery, Explanation, Status } from '../admin/status';
import type { AllocationStep } from '../core/allocation/take';
import { CpuSet } from '../core/cpuset';
import { CpusetdError } from '../core/errors';
import { sharedOn } from '../core/model/kinds';
import type { NodeView } from '../core/model/node-model';
import { POLICIES } from '../core/policy';
import { snapshotFor } from '../core/transition';

type PodQuery = Extract<ExplainQuery, { kind: 'pod' }>;
type OfPod = Pick<ContainerStatus, 'podUid' | 'namespace' | 'pod' | 'container'>;

/**
 * Why the containers of a pod, or one of them, have the CPUs that they have. Throws NOT_FOUND, or FAILED_PRECONDITION with the
 * candidates where the name is that of several pods.
 */
export function explainPod(
  { containers: all, idle }: Status,
  query: PodQuery,
  stepsOf: (containerId: string) => readonly AllocationStep[],
): Explanation {
  const containers = all.filter(({ pause }) => !pause);
  const pods = listPods([...containers, ...idle].filter((each) => isOfPod(each, query)));
  if (pods.size > 1) {
    throw new CpusetdError(
      'FAILED_PRECONDITION',
      `pod ${query.pod} is ambiguous: ${[...pods.values()].sort().join(', ')}; write it as namespace/name, or its uid`,
    );
  }
  const asked = (each: OfPod): boolean =>
    isOfPod(each, query) && (query.container === '' || each.container === query.container);
  const found = containers.filter(asked);
  const exited = idle.filter(asked);
  if (found.length === 0 && exited.length === 0) {
    const what = query.container === '' ? `pod ${query.pod}` : `container ${query.container} in pod ${query.pod}`;
    throw new CpusetdError('NOT_FOUND', `no running ${what} is known here; cpusetd status lists all of them`);
  }
  return {
    kind: 'containers',
    containers: found.map((container) => ({ container, steps: stepsOf(container.id) })),
    idle: exited,
  };
}

function isOfPod({ namespace, pod, podUid }: OfPod, query: PodQuery): boolean {
  if (query.namespace !== '') return namespace === query.namespace && pod === query.pod;
  return pod === query.pod || podUid === query.pod;
}

/** Pods by their uid, as an operator would name them. */
function listPods(of: readonly OfPod[]): Map<string, string> {
  return new Map(of.map(({ podUid, namespace, pod }) => [podUid, `${namespace}/${pod} (uid ${podUid})`]));
}

/** Whether so many CPUs could be given to a new container now, and which. Changes nothing. */
export function explainCount(view: NodeView, count: number): Explanation {
  const policy = view.settings.cpuManagerPolicy;
  const kind = policy === 'none' ? 'static' : policy;
  const decision = POLICIES[policy](snapshotFor(view, { uid: '' }, '', kind), {
    count,
    podCount: count,
    memoryBytes: 0,
  });
  const { because } = decision;
  if (decision.kind !== 'pin') return { kind: 'what-if', fits: false, cpus: CpuSet.empty, because, steps: [] };
  const cpus = decision.nodes ? sharedOn(view, decision.nodes) : decision.cpus;
  return { kind: 'what-if', fits: true, cpus, because, steps: decision.steps };
}
