import * as pb from '../../../gen/cpusetd/v1/cpusetd';
import { parseCpuList } from '../../core/cpuset';
import type { AssignmentKind } from '../../core/model/assignment';
import type { AssignmentStatus, IdleAssignment } from '../model/status';
import { decodeRules, decodeTime, encodeRules, encodeTime, keyOfValue } from './values';

export function encodeAssignment({ containerId, ...assignment }: AssignmentStatus): pb.Assignment {
  return pb.Assignment.create({ ...encodeIdle(assignment), containerId });
}

export function decodeAssignment(assignment: pb.Assignment): AssignmentStatus {
  return { ...decodeIdle(assignment), containerId: assignment.containerId };
}

export function encodeIdle(idle: IdleAssignment): pb.IdleAssignment {
  return pb.IdleAssignment.create({
    podUid: idle.podUid,
    namespace: idle.namespace,
    pod: idle.pod,
    container: idle.container,
    cpus: idle.cpus.toString(),
    mems: idle.mems.toString(),
    requested: idle.requested,
    because: idle.because,
    since: encodeTime(idle.since),
    rules: encodeRules(idle.rules),
    ...encodeTraits(idle),
    planned: idle.planned === true,
    keptByApiServer: idle.keptByApiServer === true,
  });
}

/** `static` when the sender has no kind, or one that this version does not know: exclusive CPUs. */
export function decodeIdle(idle: pb.IdleAssignment): IdleAssignment {
  return {
    podUid: idle.podUid,
    namespace: idle.namespace,
    pod: idle.pod,
    container: idle.container,
    cpus: parseCpuList(idle.cpus),
    mems: parseCpuList(idle.mems),
    requested: idle.requested,
    because: idle.because,
    since: decodeTime(idle.since),
    rules: decodeRules(idle.rules ?? pb.Rules.create()),
    kind: 'static',
    ...decodeTraits(idle),
    ...(idle.planned && { planned: true as const }),
    ...(idle.keptByApiServer && { keptByApiServer: true as const }),
  };
}

/** The fields that identify an assignment in every message. */
type Traits = Pick<AssignmentStatus, 'kind' | 'nodes' | 'scope'>;
type WireTraits = Pick<pb.Assignment, 'kind' | 'nodes' | 'sharedInPod'>;

export function encodeTraits({ kind, nodes, scope }: Partial<Traits>): WireTraits {
  return {
    kind: kind === undefined ? pb.AssignmentKind.UNSPECIFIED : KINDS[kind],
    nodes: nodes?.toString() ?? '',
    sharedInPod: scope === 'pod',
  };
}

export function decodeTraits({ kind, nodes, sharedInPod }: WireTraits): Partial<Traits> {
  const known = keyOfValue(KINDS, kind);
  return {
    ...(known && { kind: known }),
    ...(nodes !== '' && { nodes: parseCpuList(nodes) }),
    ...(sharedInPod && { scope: 'pod' as const }),
  };
}

const KINDS: Readonly<Record<AssignmentKind, pb.AssignmentKind>> = {
  static: pb.AssignmentKind.STATIC,
  exclusive: pb.AssignmentKind.EXCLUSIVE,
  immovable: pb.AssignmentKind.IMMOVABLE,
  numa: pb.AssignmentKind.NUMA,
};
