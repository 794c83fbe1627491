import type { AdminBackend } from '../../admin/model/backend';
import type { Alarm } from '../../admin/model/alarm';
import type { Connection } from '../../net/connection-state';
import type { LentStatus, QosStatus, UsageStatus } from '../../admin/model/qos-status';
import {
  MOST_SHOWN_REFUSALS,
  type ForeignLoad,
  type Gap,
  type NodeStatus,
  type PendingOption,
  type PodSource,
  type Refused,
  type Status,
} from '../../admin/model/status';
import type { AllocationStep } from '../../core/allocation';
import type { CpuSet } from '../../core/cpuset';
import type { NodeView } from '../../core/model/node-view';
import type { Refusal } from '../../core/model/refusal';
import { barredCpus, machineOf } from '../../core/topology';
import { optionNames } from '../../core/model/settings';
import { boundText } from '../../core/show-text';
import { explainCount, explainPod } from './explain';
import type { Faults } from '../alarms/faults';
import { ShownModel, type ContainersTold, type DriftSource } from './show-status';
import { StatusFeed } from './status-feed';
import type { VerdictStore } from './verdict-store';

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

export interface NodeStatusParts {
  readonly model: NodeView;
  readonly verdicts: VerdictStore;
  /** Absent where drifts are not counted. */
  readonly drifts?: DriftSource;
  /** By the ids of containers; another object after each audit. Absent without the audit. */
  readonly foreign?: () => ReadonlyMap<string, ForeignLoad>;
  /** Absent where no container is told its CPUs. */
  readonly identities?: ContainersTold;
  readonly facts: () => DaemonFacts;
  readonly readOffline: () => CpuSet;
  /** The steps by which the CPUs of a container were chosen. */
  readonly stepsOf: (containerId: string) => readonly AllocationStep[];
  /** Refusals of containers that were not served since. */
  readonly refused: () => readonly Refusal[];
  readonly now: () => string;
  readonly faults: Faults;
}

/** Shows what the daemon knows. */
export function createAdminBackend(parts: NodeStatusParts): AdminBackend & { readonly feed: StatusFeed } {
  const shown = new ShownModel(parts);
  const status = (): Status => ({ node: showNode(parts), containers: shown.containers(), idle: shown.idle() });
  const feed = new StatusFeed(status, parts.faults);
  return {
    feed,
    status,
    assignments: shown.assignments,
    topology: () => ({
      topology: parts.model.topology,
      offline: parts.readOffline(),
      node: showNode(parts),
      assignments: shown.assignments(),
    }),
    podResources: shown.podResources,
    watch: (listener) => feed.watch(listener),
    explain: (query) =>
      query.kind === 'cpus'
        ? explainCount(parts.model, query.count)
        : explainPod({ status: status(), refused: parts.refused(), stepsOf: parts.stepsOf, view: parts.model }, query),
  };
}

function showNode({ model, facts, refused }: NodeStatusParts): NodeStatus {
  const entries = refused();
  const { topology, settings } = model;
  const { gap, kube, pendingOptions, fixedIrqs = [], usage, qos, lent, ...known } = facts();
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
    ...(entries.length > 0 && { refused: showRefused(entries) }),
  };
}

function showRefused(entries: readonly Refusal[]): Refused {
  const latest = entries.slice(-MOST_SHOWN_REFUSALS).reverse();
  return {
    containers: entries.length,
    latest: latest.map(({ podUid, podNamespace, podName, containerName, asked, because, lastAt, times }) => ({
      ...{ podUid, namespace: podNamespace, pod: podName, container: containerName, asked, because, lastAt, times },
    })),
  };
}

/** A reason may quote a peer at any length. */
function bound<T extends Connection>(connection: T): T {
  return { ...connection, reason: boundText(connection.reason) };
}
