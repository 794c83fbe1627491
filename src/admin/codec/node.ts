import * as pb from '../../../gen/cpusetd/v1/cpusetd';
import { parseCpuList } from '../../core/cpuset';
import type { Connection, ConnectionState } from '../../net/connection-state';
import type { NodeStatus, RefusalSummary } from '../model/status';
import { decodeLent, decodeQos, decodeUsage, encodeLent, encodeQos, encodeUsage } from './qos-status';
import { ASKED, decodeTime, encodeTime, keyOfValue } from './values';

export function encodeNode(node: NodeStatus): pb.NodeStatus {
  const { barred, gap, kube, usage, qos, lent, refused } = node;
  return pb.NodeStatus.create({
    nodeName: node.nodeName ?? '',
    policy: node.policy,
    policyOptions: [...node.policyOptions],
    online: node.online.toString(),
    reserved: node.reserved.toString(),
    allocatable: node.allocatable.toString(),
    sharedPool: node.sharedPool.toString(),
    free: node.free.toString(),
    isolated: node.isolated.toString(),
    barred: barred?.cpus.toString() ?? '',
    barredBy: barred?.by ?? '',
    mode: node.mode === 'nri' ? pb.Mode.NRI : pb.Mode.CRI_PROXY,
    runtimeName: node.runtimeName,
    runtimeVersion: node.runtimeVersion,
    nri: encodeConnection(node.nri),
    cri: encodeConnection(node.cri),
    generation: BigInt(node.generation),
    startedAt: encodeTime(node.startedAt),
    version: node.version,
    ...(gap && {
      gap: { from: encodeTime(gap.from), to: encodeTime(gap.to), containers: gap.containers, names: [...gap.names] },
    }),
    alarms: node.alarms.map((alarm) => pb.Alarm.create({ ...alarm, since: encodeTime(alarm.since) })),
    pendingOptions: (node.pendingOptions ?? []).map((pending) => pb.PendingOption.create(pending)),
    fixedIrqs: [...(node.fixedIrqs ?? [])],
    ...(kube && {
      podSource: {
        connection: encodeConnection(kube),
        pods: kube.pods,
        ...(kube.heardAt !== undefined && { heardAt: encodeTime(kube.heardAt) }),
      },
    }),
    ...(usage && { usage: encodeUsage(usage) }),
    ...(qos && { qos: encodeQos(qos) }),
    ...(lent && { lent: encodeLent(lent) }),
    ignored: [...(node.ignored ?? [])],
    refused: (refused?.latest ?? []).map(encodeRefusal),
    refusedContainers: refused?.containers ?? 0,
  });
}

export function decodeNode(node: pb.NodeStatus): NodeStatus {
  const { gap, podSource, usage, qos, lent } = node;
  return {
    ...(node.nodeName !== '' && { nodeName: node.nodeName }),
    policy: node.policy,
    policyOptions: node.policyOptions,
    online: parseCpuList(node.online),
    ...(node.barred !== '' && { barred: { cpus: parseCpuList(node.barred), by: node.barredBy } }),
    reserved: parseCpuList(node.reserved),
    allocatable: parseCpuList(node.allocatable),
    sharedPool: parseCpuList(node.sharedPool),
    free: parseCpuList(node.free),
    isolated: parseCpuList(node.isolated),
    mode: node.mode === pb.Mode.CRI_PROXY ? 'cri-proxy' : 'nri',
    runtimeName: node.runtimeName,
    runtimeVersion: node.runtimeVersion,
    nri: decodeConnection(node.nri),
    cri: decodeConnection(node.cri),
    generation: Number(node.generation),
    startedAt: decodeTime(node.startedAt),
    version: node.version,
    ...(gap && {
      gap: {
        from: decodeTime(gap.from),
        ...(gap.to && { to: decodeTime(gap.to) }),
        containers: gap.containers,
        names: gap.names,
      },
    }),
    alarms: node.alarms.map(({ kind, subject, because, since }) => ({
      kind,
      subject,
      because,
      since: decodeTime(since),
    })),
    ...(node.pendingOptions.length > 0 && {
      pendingOptions: node.pendingOptions.map(({ option, inForce, configured, because }) => ({
        option,
        inForce,
        configured,
        because,
      })),
    }),
    ...(node.fixedIrqs.length > 0 && { fixedIrqs: node.fixedIrqs }),
    ...(podSource && {
      kube: {
        ...decodeConnection(podSource.connection),
        pods: podSource.pods,
        ...(podSource.heardAt && { heardAt: decodeTime(podSource.heardAt) }),
      },
    }),
    ...(usage && { usage: decodeUsage(usage) }),
    ...(qos && { qos: decodeQos(qos) }),
    ...(lent && { lent: decodeLent(lent) }),
    ...(node.ignored.length > 0 && { ignored: node.ignored }),
    ...(node.refusedContainers > 0 && {
      refused: { containers: node.refusedContainers, latest: node.refused.map(decodeRefusal) },
    }),
  };
}

const CONNECTION_STATES: Readonly<Record<ConnectionState, pb.ConnectionState>> = {
  off: pb.ConnectionState.OFF,
  connecting: pb.ConnectionState.CONNECTING,
  synchronizing: pb.ConnectionState.SYNCHRONIZING,
  ready: pb.ConnectionState.READY,
};

function encodeConnection({ state, since, reason }: Connection): pb.Connection {
  return pb.Connection.create({ state: CONNECTION_STATES[state], since: encodeTime(since), reason });
}

function decodeConnection(connection: pb.Connection | undefined): Connection {
  return {
    state: keyOfValue(CONNECTION_STATES, connection?.state) ?? 'off',
    since: decodeTime(connection?.since),
    reason: connection?.reason ?? '',
  };
}

function encodeRefusal({ asked, lastAt, ...rest }: RefusalSummary): pb.RefusalSummary {
  return pb.RefusalSummary.create({ ...rest, asked: ASKED[asked], lastAt: encodeTime(lastAt) });
}

function decodeRefusal({
  podUid,
  namespace,
  pod,
  container,
  asked,
  because,
  lastAt,
  times,
}: pb.RefusalSummary): RefusalSummary {
  return {
    podUid,
    namespace,
    pod,
    container,
    because,
    times,
    asked: keyOfValue(ASKED, asked) ?? 'unknown',
    lastAt: decodeTime(lastAt),
  };
}
