import type {
  AdminBackend,
  Alarm,
  AssignmentStatus,
  Connection,
  ContainerStatus,
  Gap,
  IdleAssignment,
  NodeStatus,
  Observation as ShownObservation,
  PodSource,
  Status,
} from '../admin/status';
import type { AllocationStep } from '../core/allocation/take';
import type { CpuSet } from '../core/cpuset';
import { keyOf, type Assignment } from '../core/model/assignment';
import type { Container } from '../core/model/container';
import type { NodeView } from '../core/model/node-model';
import { optionNames } from '../core/model/settings';
import { judge } from '../core/verdict/judge';
import { explainCount, explainPod } from './explain';
import { listPodResources } from './pod-resources';
import { StatusFeed } from './status-feed';
import type { VerdictBook } from './verdict-book';

/** What status shows beside the model; the daemon keeps it up to date. */
export interface DaemonFacts {
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
}

export interface NodeStatusParts {
  readonly model: NodeView;
  readonly verdicts: VerdictBook;
  readonly facts: () => DaemonFacts;
  readonly readOffline: () => CpuSet;
  /** How the CPUs of a container were chosen. */
  readonly stepsOf: (containerId: string) => readonly AllocationStep[];
  readonly now: () => string;
}

/** Shows what the daemon knows. */
export function createAdminBackend(parts: NodeStatusParts): AdminBackend & { readonly feed: StatusFeed } {
  const status = (): Status => ({
    node: showNode(parts),
    containers: [...parts.model.containers.values()].map((container) => showContainer(parts, container)),
    idle: showIdle(parts.model),
  });
  const feed = new StatusFeed(status);
  const assignments = (): AssignmentStatus[] => [...parts.model.assignments.values()].map(showAssignment);
  return {
    feed,
    status,
    assignments,
    topology: () => ({
      topology: parts.model.topology,
      offline: parts.readOffline(),
      node: showNode(parts),
      assignments: assignments(),
    }),
    podResources: () => listPodResources(parts.model),
    watch: (listener) => feed.watch(listener),
    explain: (query) =>
      query.kind === 'cpus' ? explainCount(parts.model, query.count) : explainPod(status(), query, parts.stepsOf),
  };
}

function showNode({ model, facts }: NodeStatusParts): NodeStatus {
  const { topology, settings } = model;
  const { gap, kube, ...known } = facts();
  return {
    policy: settings.cpuManagerPolicy,
    policyOptions: optionNames(settings.options),
    online: topology.online,
    reserved: settings.reserved,
    allocatable: topology.online.minus(settings.reserved),
    sharedPool: model.sharedPool,
    free: model.free,
    isolated: topology.isolated,
    ...known,
    ...(gap && { gap }),
    ...(kube && { kube }),
  };
}

function showContainer({ model, verdicts, now }: NodeStatusParts, container: Container): ContainerStatus {
  const pod = model.pods.get(container.sandboxId);
  const assignment = model.assignments.get(keyOf({ podUid: container.podUid, containerName: container.name }));
  const entry = verdicts.get(container.id);
  const verdict = entry?.verdict ?? judge(model, container, undefined);
  const observation = showObservation(entry);
  return {
    id: container.id,
    podUid: container.podUid,
    namespace: pod?.namespace ?? '',
    pod: pod?.name ?? '',
    container: container.name,
    placement: container.placement,
    ...(container.promise && {
      promise: {
        ...container.promise,
        ...(assignment?.quotaLifted && container.placement === 'exclusive' && { quotaUs: -1 }),
      },
    }),
    ...(observation && { observation }),
    verdict: { kind: verdict.kind, reason: verdict.because, since: entry?.since ?? now() },
    because:
      container.unmetSwitch === undefined
        ? container.because
        : `${container.because}; not switched since ${container.unmetSwitch.since}: ${container.unmetSwitch.because}`,
    since: assignment?.since ?? entry?.since ?? '',
    requested: container.entitled,
    ...(assignment?.containerId === container.id && {
      kind: assignment.kind,
      ...(assignment.nodes && { nodes: assignment.nodes }),
      ...(assignment.scope && { scope: assignment.scope }),
      rules: assignment.rules,
    }),
  };
}

function showObservation(entry: ReturnType<VerdictBook['get']>): ShownObservation | undefined {
  if (entry?.observation.kind !== 'seen') return undefined;
  const { cpus, effective, mems, quota, podQuota, threads } = entry.observation;
  return {
    cpus,
    effectiveCpus: effective,
    mems,
    ...(quota && { quotaUs: quota.quotaUs }),
    ...(podQuota && { podQuotaUs: podQuota.quotaUs }),
    ...(threads && { threads }),
    at: entry.at,
  };
}

function showIdle(model: NodeView): IdleAssignment[] {
  return [...model.assignments.values()]
    .filter(({ containerId }) => containerId === null)
    .map((assignment) => {
      const { containerId: _none, ...idle } = showAssignment(assignment);
      return idle;
    });
}

function showAssignment(assignment: Assignment): AssignmentStatus {
  const { nodes, scope } = assignment;
  return {
    podUid: assignment.podUid,
    namespace: assignment.podNamespace,
    pod: assignment.podName,
    container: assignment.containerName,
    containerId: assignment.containerId ?? '',
    kind: assignment.kind,
    cpus: assignment.cpus,
    ...(nodes && { nodes }),
    ...(scope && { scope }),
    mems: assignment.mems,
    requested: assignment.requested,
    because: assignment.because,
    since: assignment.since,
    rules: assignment.rules,
  };
}
