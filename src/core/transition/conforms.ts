import type { TopologyResult } from '../annotations/topology-result';
import type { CpuSet } from '../cpuset';
import { assignmentOf, type Assignment, type AssignmentKind } from '../model/assignment';
import { infoOf, type Container } from '../model/container';
import { isAssigned, KINDS } from '../model/pool-view';
import type { NodeView } from '../model/node-view';
import type { Settings } from '../model/settings';
import type { ResolvedPod } from '../model/spec-book';
import { isSpreadAs } from '../policy';
import { entitle, readSchedule } from './entitlement';

/**
 * Whether what a running container has is what its pod's annotations ask for now, as far as the pod may ask for it. What it
 * was given under other rules conforms too: it is the pod that has to change its mind, not the operator.
 */
export function conforms(view: NodeView, pod: ResolvedPod, container: Container): boolean {
  const assignment = assignmentOf(view, container);
  const want = wantOf(view, pod, container, view.settings);
  if (isMet(view, assignment, want)) return true;
  return (
    assignment !== undefined &&
    want?.kind !== assignment.kind &&
    wantOf(view, pod, container, rulesThen(view.settings, assignment))?.kind === assignment.kind
  );
}

/** Whether a container that shares is entitled to CPUs by a spec that was not known when it was placed by its message. */
export function wantsAfterAll(view: NodeView, pod: ResolvedPod, container: Container): boolean {
  return (
    container.entitled === 0 && !isAssigned(container) && wantOf(view, pod, container, view.settings) !== undefined
  );
}

/** What a container would be given; undefined = a place in the shared pool. */
interface Want {
  readonly kind: AssignmentKind;
  readonly scheduled?: TopologyResult;
}

function wantOf(view: NodeView, pod: ResolvedPod, container: Container, settings: Settings): Want | undefined {
  const info = infoOf(container);
  const {
    chosen: { policy },
    request,
  } = entitle(settings, pod, info);
  if (policy === 'none' || request.kind !== 'exclusive') return undefined;
  const { scheduled } = readSchedule(view.topology, pod, info, { policy }, request.count).found;
  if (scheduled?.size === 0) return undefined;
  return { kind: policy, ...(scheduled && { scheduled }) };
}

function isMet({ topology }: NodeView, assignment: Assignment | undefined, want: Want | undefined): boolean {
  if (!assignment || !want) return assignment === undefined && want === undefined;
  if (assignment.kind !== want.kind) return false;
  const { scheduled } = want;
  if (KINDS[want.kind].claim === 'numa-nodes') return scheduled === undefined || sameNodes(assignment.nodes, scheduled);
  if (scheduled === undefined) return assignment.scope === undefined;
  return assignment.scope === 'pod' && isSpreadAs(topology, assignment.cpus, scheduled);
}

function sameNodes(nodes: CpuSet | undefined, scheduled: TopologyResult): boolean {
  return nodes?.size === scheduled.size && [...scheduled.keys()].every((node) => nodes.has(node));
}

/** What was in force when the assignment was given, as far as that is remembered. */
function rulesThen(settings: Settings, { rules }: Assignment): Settings {
  const policy = rules.policy;
  return rules.chosenBy === undefined
    ? { ...settings, cpuManagerPolicy: policy }
    : { ...settings, podPolicies: [...(settings.podPolicies ?? []), policy] };
}
