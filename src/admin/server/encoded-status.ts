import { BinaryWriter } from '@bufbuild/protobuf/wire';

import * as pb from '../../../gen/cpusetd/v1/cpusetd';
import type { CpuSet } from '../../core/cpuset';
import { encodeAssignment, encodeIdle } from '../codec/assignment';
import { encodeContainer } from '../codec/container';
import { encodeNode } from '../codec/node';
import { encodeChange } from '../codec/status';
import { encodeMachine } from '../codec/topology';
import type { AdminBackend } from '../model/backend';
import type { AssignmentStatus, ContainerStatus, IdleAssignment, StatusChange } from '../model/status';

/** Tag of field 1, which is the status, or a change of it. */
const STATUS_FIELD = (1 << 3) | 2;

/**
 * The long answers as bytes that all callers share. A container, an assignment or the machine is encoded once for each
 * object of the backend, which keeps the object while it does not change. Without a change the answer is the previous
 * one.
 */
export class EncodedStatus {
  private readonly containers = encodedList<ContainerStatus>((container) =>
    pb.Status.encode(pb.Status.create({ containers: [encodeContainer(container)] })),
  );
  private readonly idle = encodedList<IdleAssignment>((idle) =>
    pb.Status.encode(pb.Status.create({ idle: [encodeIdle(idle)] })),
  );
  private readonly assigned = encodedList<AssignmentStatus>((assignment) =>
    pb.ListAssignmentsResponse.encode(
      pb.ListAssignmentsResponse.create({ assignments: [encodeAssignment(assignment)] }),
    ),
  );
  private readonly assignedOnMachine = encodedList<AssignmentStatus>((assignment) =>
    pb.GetTopologyResponse.encode(pb.GetTopologyResponse.create({ assignments: [encodeAssignment(assignment)] })),
  );
  private readonly joinStatus = joinOnce((parts) => {
    const writer = new BinaryWriter();
    return Buffer.from(writer.uint32(STATUS_FIELD).bytes(Buffer.concat(parts)).finish());
  });
  private readonly joinTopology = joinOnce((parts) => Buffer.concat(parts));
  private machine: { readonly topology: object; readonly offline: CpuSet; readonly bytes: Buffer } | undefined;
  private change: { readonly source: StatusChange; readonly bytes: Buffer } | undefined;

  constructor(private readonly backend: AdminBackend) {}

  /** A GetStatusResponse; a WatchStatusResponse with the full status is the same bytes. */
  status(): Buffer {
    const { node, containers, idle } = this.backend.status();
    const shownNode = finish(pb.Status.encode(pb.Status.create({ node: encodeNode(node) })));
    return this.joinStatus([shownNode, this.containers(containers), this.idle(idle)]);
  }

  /** A ListAssignmentsResponse. */
  assignments(): Buffer {
    return this.assigned(this.backend.assignments());
  }

  /** A GetTopologyResponse. */
  topology(): Buffer {
    const { topology, offline, node, assignments } = this.backend.topology();
    if (this.machine?.topology !== topology || !this.machine.offline.equals(offline)) {
      const machine = pb.GetTopologyResponse.create({ machine: encodeMachine(topology, offline) });
      this.machine = { topology, offline, bytes: finish(pb.GetTopologyResponse.encode(machine)) };
    }
    const shownNode = finish(pb.GetTopologyResponse.encode(pb.GetTopologyResponse.create({ node: encodeNode(node) })));
    return this.joinTopology([this.machine.bytes, shownNode, this.assignedOnMachine(assignments)]);
  }

  /** A WatchStatusResponse, shared by all watchers of the change. */
  changeOf(change: StatusChange): Buffer {
    if (this.change?.source !== change)
      this.change = { source: change, bytes: finish(pb.WatchStatusResponse.encode(encodeChange(change))) };
    return this.change.bytes;
  }
}

/**
 * A repeated field as bytes, each item encoded once. Protobuf allows a message to be joined from parts, a repeated
 * field with one item in each.
 */
function encodedList<T extends object>(encode: (item: T) => BinaryWriter): (items: readonly T[]) => Buffer {
  const bytesOf = new WeakMap<T, Buffer>();
  let last: { readonly items: readonly T[]; readonly bytes: Buffer } | undefined;
  return (items) => {
    if (last?.items !== items) {
      const parts = items.map((item) => {
        const bytes = bytesOf.get(item) ?? finish(encode(item));
        bytesOf.set(item, bytes);
        return bytes;
      });
      last = { items, bytes: Buffer.concat(parts) };
    }
    return last.bytes;
  };
}

/** Joins the parts; returns the previous bytes while all parts are the same. */
function joinOnce(join: (parts: readonly Buffer[]) => Buffer): (parts: readonly Buffer[]) => Buffer {
  let last: { readonly parts: readonly Buffer[]; readonly bytes: Buffer } | undefined;
  return (parts) => {
    const { parts: before } = last ?? {};
    const isSame = before !== undefined && parts.every((part, i) => part === before[i] || part.equals(before[i]!));
    if (!last || !isSame) last = { parts, bytes: join(parts) };
    return last.bytes;
  };
}

function finish(writer: BinaryWriter): Buffer {
  return Buffer.from(writer.finish());
}
