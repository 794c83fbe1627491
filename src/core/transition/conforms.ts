import { choosePolicy, type TopologyResult } from '../annotations';
import type { CpuSet } from '../cpuset';
import { keyOf, type Assignment, type AssignmentKind } from '../model/assignment';
import type { Container } from '../model/container';
import type { ContainerInfo, PodInfo } from '../model/events';
import { asSpecSays } from '../model/find-spec';
import { isAssigned, KINDS } from '../model/pool-view';
import type { NodeView } from '../model/node-model';
import type { Settings } from '../model/settings';
import { isSpreadAs } from '../policy';
import { readSchedule } from './placement';
import { requestOf } from './request-of';

/**
 * Whether what a running container has is what its pod's annotations ask for now, as far as the pod may ask for it. What it
 * was given under other rules conforms too: it is the pod that has to change its mind, not the operator.
 */
export function conforms(view: NodeView, container: Container): boolean {
  const assignment = ownAssignmentOf(view, container);
  const want = wantOf(view, container, view.settings);
  if (isMet(view, assignment, want)) return true;
  return (
    assignment !== undefined &&
    want?.kind !== assignment.kind &&
    wantOf(view, container, rulesThen(view.settings, assignment))?.kind === assignment.kind
  );
}

/** Whether a container that shares is entitled to CPUs by a spec that was not known when it was placed by its message. */
export function wantsAfterAll(view: NodeView, container: Container): boolean {
  return container.entitled === 0 && !isAssigned(container) && wantOf(view, container, view.settings) !== undefined;
}

/** What a container would be given; undefined = a place in the shared pool. */
interface Want {
  readonly kind: AssignmentKind;
  readonly scheduled?: TopologyResult;
}

function wantOf(view: NodeView, container: Container, settings: Settings): Want | undefined {
  const pod = podOf(view, container)!;
  const { policy } = choosePolicy(settings, asSpecSays(view, pod).annotations, container.name);
  const request = requestOf(view, pod, infoOf(container), policy);
  if (policy === 'none' || request.kind !== 'exclusive') return undefined;
  const { scheduled } = readSchedule(view, pod, infoOf(container), { policy }, request.count).found;
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

/** The pod that the container runs in; undefined where the runtime has not told of it. */
export function podOf(view: NodeView, { sandboxId }: Container): PodInfo | undefined {
  return view.pods.get(sandboxId);
}

/** The assignment that this very container holds; not one that it only may take over in its pod. */
export function ownAssignmentOf(view: NodeView, { id, podUid, name }: Container): Assignment | undefined {
  const assignment = view.assignments.get(keyOf({ podUid, containerName: name }));
  return assignment?.containerId === id ? assignment : undefined;
}

/** A running container in the form in which it was asked for. */
export function infoOf({ id, sandboxId, name, phase, cgroupsPath, resources, oomScoreAdj }: Container): ContainerInfo {
  return {
    id,
    sandboxId,
    name,
    phase,
    cgroupsPath,
    resources,
    ...(oomScoreAdj !== undefined && { oomScoreAdj }),
  };
}
