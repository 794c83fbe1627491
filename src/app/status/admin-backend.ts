import type { AdminBackend } from '../../admin/model/backend';
import type { ForeignLoad, Status } from '../../admin/model/status';
import type { AllocationStep } from '../../core/allocation';
import type { CpuSet } from '../../core/cpuset';
import type { NodeView } from '../../core/model/node-view';
import type { Refusal } from '../../core/model/refusal';
import { explainCount, explainPod } from './explain';
import type { Faults } from '../alarms/faults';
import { showNode, type DaemonFacts } from './show-node';
import { ShownModel, type ContainersWithIdentity, type DriftSource } from './show-status';
import { StatusFeed } from './status-feed';
import type { VerdictStore } from './verdict-store';

export interface NodeStatusParts {
  readonly model: NodeView;
  readonly verdicts: VerdictStore;
  /** Absent where drifts are not counted. */
  readonly drifts?: DriftSource;
  /** By the ids of containers; another object after each audit. Absent without the audit. */
  readonly foreign?: () => ReadonlyMap<string, ForeignLoad>;
  /** Absent where no container gets a file with its CPUs. */
  readonly identities?: ContainersWithIdentity;
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
  const status = (): Status => ({
    node: showNode(parts.model, parts.facts(), parts.refused()),
    containers: shown.containers(),
    idle: shown.idle(),
  });
  const feed = new StatusFeed(status, parts.faults);
  return {
    feed,
    status,
    assignments: shown.assignments,
    topology: () => ({
      topology: parts.model.topology,
      offline: parts.readOffline(),
      node: showNode(parts.model, parts.facts(), parts.refused()),
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
