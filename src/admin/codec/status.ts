import * as pb from '../../../gen/cpusetd/v1/cpusetd';
import type { Status, StatusChange } from '../model/status';
import { decodeIdle, encodeIdle } from './assignment';
import { decodeContainer, encodeContainer } from './container';
import { decodeNode, encodeNode } from './node';

export function encodeStatus(status: Status): pb.Status {
  return pb.Status.create({
    node: encodeNode(status.node),
    containers: status.containers.map(encodeContainer),
    idle: status.idle.map(encodeIdle),
  });
}

export function decodeStatus(status: pb.Status): Status {
  return {
    node: decodeNode(status.node ?? pb.NodeStatus.create()),
    containers: status.containers.map(decodeContainer),
    idle: status.idle.map(decodeIdle),
  };
}

export function encodeChange(change: StatusChange): pb.WatchStatusResponse {
  switch (change.kind) {
    case 'full':
      return pb.WatchStatusResponse.create({ status: encodeStatus(change.status) });
    case 'node':
      return pb.WatchStatusResponse.create({ node: encodeNode(change.node) });
    case 'container':
      return pb.WatchStatusResponse.create({ container: encodeContainer(change.container) });
    case 'container-removed':
      return pb.WatchStatusResponse.create({ containerRemoved: change.id });
    case 'idle':
      return pb.WatchStatusResponse.create({ idle: { assignments: change.idle.map(encodeIdle) } });
  }
}

/** Undefined for a kind of change that this version does not know. */
export function decodeChange(event: pb.WatchStatusResponse): StatusChange | undefined {
  if (event.status) return { kind: 'full', status: decodeStatus(event.status) };
  if (event.node) return { kind: 'node', node: decodeNode(event.node) };
  if (event.container) return { kind: 'container', container: decodeContainer(event.container) };
  if (event.containerRemoved !== undefined) return { kind: 'container-removed', id: event.containerRemoved };
  if (event.idle) return { kind: 'idle', idle: event.idle.assignments.map(decodeIdle) };
  return undefined;
}
