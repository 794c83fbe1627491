import type { ContainerStatus, ExplainQuery, Explanation } from '../admin/status';
import { CpuSet } from '../core/cpuset';
import { CpusetdError } from '../core/errors';
import { sharedOn } from '../core/model/kinds';
import type { NodeView } from '../core/model/node-model';
import { POLICIES } from '../core/policy';
import { snapshotFor } from '../core/transition';

/** Why containers have the CPUs that they have. Throws NOT_FOUND, or FAILED_PRECONDITION where the name is ambiguous. */
export function explainContainers(
  containers: readonly ContainerStatus[],
  query: Extract<ExplainQuery, { kind: 'pod' }>,
): Explanation {
  const ofPod = containers.filter(
    ({ namespace, pod }) => pod === query.pod && (query.namespace === '' || namespace === query.namespace),
  );
  const namespaces = new Set(ofPod.map(({ namespace }) => namespace));
  if (namespaces.size > 1) {
    throw new CpusetdError(
      'FAILED_PRECONDITION',
      `pod ${query.pod} exists in ${[...namespaces].sort().join(', ')}: write it as namespace/pod`,
    );
  }
  const found = ofPod.filter(({ container }) => query.container === '' || container === query.container);
  if (found.length === 0) {
    const what = query.container === '' ? `pod ${query.pod}` : `container ${query.container} in pod ${query.pod}`;
    throw new CpusetdError('NOT_FOUND', `no running ${what} is known here; cpusetd status lists all of them`);
  }
  return { kind: 'containers', containers: found.map((container) => ({ container, steps: [] })) };
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
