import type { Alarm } from '../../admin/model/alarm';
import type { LentStatus, QosStatus, UsageStatus } from '../../admin/model/qos-status';
import {
  MOST_SHOWN_REFUSALS,
  type Gap,
  type NodeStatus,
  type PendingOption,
  type PodSource,
  type Refused,
} from '../../admin/model/status';
import type { NodeView } from '../../core/model/node-view';
import type { Refusal } from '../../core/model/refusal';
import { optionNames } from '../../core/model/settings';
import { boundText } from '../../core/show-text';
import { barredCpus, machineOf } from '../../core/topology';
import type { Connection } from '../../net/connection-state';

/** Facts of the daemon that status shows beside the model. */
export interface DaemonFacts {
  readonly nodeName: string;
  readonly mode: 'nri' | 'cri-proxy';
  readonly startedAt: string;
  readonly version: string;
  readonly runtimeName: string;
  readonly runtimeVersion: string;
  readonly nri: Connection;
  readonly cri: Connection;
  readonly kube?: PodSource | undefined;
  readonly generation: number;
  readonly gap: Gap | undefined;
  readonly alarms: readonly Alarm[];
  readonly pendingOptions: readonly PendingOption[];
  readonly fixedIrqs?: readonly number[] | undefined;
  readonly usage?: UsageStatus | undefined;
  readonly qos?: QosStatus | undefined;
  readonly lent?: LentStatus | undefined;
}

/** The CPUs of a node, and the rules by which they are given out. */
export type NodeCpus = Pick<
  NodeStatus,
  | 'policy'
  | 'policyOptions'
  | 'online'
  | 'barred'
  | 'reserved'
  | 'allocatable'
  | 'sharedPool'
  | 'free'
  | 'isolated'
  | 'ignored'
>;

/** Shows what the model alone knows of a node. */
export function showCpus(model: NodeView): NodeCpus {
  const { topology, settings } = model;
  return {
    policy: settings.cpuManagerPolicy,
    policyOptions: optionNames(settings.options),
    online: machineOf(topology).online,
    ...(topology.confinement && {
      barred: { cpus: barredCpus(topology), by: topology.confinement.bound.cgroup },
    }),
    reserved: settings.reserved,
    allocatable: topology.online.minus(settings.reserved),
    sharedPool: model.sharedPool,
    free: model.free,
    isolated: topology.isolated,
    ...(topology.ignored.length > 0 && { ignored: topology.ignored }),
  };
}

/** Shows the node: its CPUs by the model, the facts of its daemon, and the containers that were refused. */
export function showNode(model: NodeView, facts: DaemonFacts, refused: readonly Refusal[]): NodeStatus {
  const { gap, kube, pendingOptions, fixedIrqs = [], usage, qos, lent, ...known } = facts;
  return {
    ...showCpus(model),
    ...known,
    nri: bound(known.nri),
    cri: bound(known.cri),
    ...(gap && { gap }),
    ...(pendingOptions.length > 0 && { pendingOptions }),
    ...(fixedIrqs.length > 0 && { fixedIrqs }),
    ...(kube && { kube: bound(kube) }),
    ...(usage && { usage }),
    ...(qos && { qos }),
    ...(lent && { lent }),
    ...(refused.length > 0 && { refused: showRefused(refused) }),
  };
}

function showRefused(entries: readonly Refusal[]): Refused {
  const latest = entries.slice(-MOST_SHOWN_REFUSALS).reverse();
  return {
    containers: entries.length,
    latest: latest.map(({ podUid, podNamespace, podName, containerName, asked, because, lastAt, times }) => ({
      podUid,
      namespace: podNamespace,
      pod: podName,
      container: containerName,
      asked,
      because,
      lastAt,
      times,
    })),
  };
}

/** A reason may quote a peer at any length. */
function bound<T extends Connection>(connection: T): T {
  return { ...connection, reason: boundText(connection.reason) };
}
