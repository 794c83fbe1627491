import type {
  AssignmentStatus,
  ContainerStatus,
  DriftTally,
  ForeignLoad,
  Observation as ShownObservation,
} from '../../admin/model/status';
import type { Assignment } from '../../core/model/assignment';
import type { Container, Pod } from '../../core/model/container';
import type { NodeView } from '../../core/model/node-view';
import type { Verdict } from '../../core/verdict/judge';
import { judgeNow } from '../../core/verdict/judgement';
import type { VerdictEntry } from './verdict-store';

/** The sources of a container's status: while all of them are the same objects, so is the status. */
export interface ContainerSources {
  readonly container: Container;
  readonly pod: Pod | undefined;
  readonly assignment: Assignment | undefined;
  readonly entry: VerdictEntry | undefined;
  readonly drift: DriftTally | undefined;
  readonly foreign: ForeignLoad | undefined;
  /** Machine and rules, and the pool where it overlaps exclusive CPUs: every verdict is given on them. */
  readonly topology: NodeView['topology'];
  readonly settings: NodeView['settings'];
  readonly isPoolOverlapping: boolean;
  /** It has a file with its CPUs. */
  readonly hasIdentity: boolean;
}

/** Returns the status of a container. `now`: the clock, for a verdict that begins with this look. Pure but for it. */
export function showContainer(
  model: NodeView,
  { container, pod, assignment, entry, drift, foreign, hasIdentity }: ContainerSources,
  now: () => string,
): ContainerStatus {
  const verdict = judgeNow(model, container, entry);
  const observation = showObservation(entry);
  return {
    id: container.id,
    podUid: container.podUid,
    namespace: pod?.namespace ?? '',
    pod: pod?.name ?? '',
    container: container.name,
    ...(container.pause && { pause: true as const }),
    ...(hasIdentity && { cpuIdentity: true as const }),
    placement: container.placement,
    ...(container.promise && {
      promise: {
        ...container.promise,
        ...(container.promisedAt !== undefined && { since: container.promisedAt }),
        ...(assignment?.quotaLifted && container.placement === 'exclusive' && { quotaUs: -1 }),
      },
    }),
    ...(observation && { observation }),
    verdict: { kind: verdict.kind, reason: verdict.because, since: sinceWhen(verdict, container, entry) ?? now() },
    ...(drift && { drift }),
    ...(foreign && { foreign }),
    because:
      container.blockedSwitch === undefined
        ? container.because
        : `${container.because}; not switched since ${container.blockedSwitch.since}: ${container.blockedSwitch.because}`,
    since: assignment?.since ?? entry?.since ?? '',
    requested: container.entitledCpus,
    ...(assignment?.containerId === container.id && {
      kind: assignment.kind,
      ...(assignment.nodes && { nodes: assignment.nodes }),
      ...(assignment.scope && { scope: assignment.scope }),
      rules: assignment.rules,
    }),
  };
}

/** Undefined when the time at which the verdict became so was not recorded. */
function sinceWhen({ kind }: Verdict, { promise, promisedAt }: Container, entry: VerdictEntry | undefined) {
  if (entry?.verdict.kind === kind) return entry.since;
  return entry?.basis.promise === promise ? undefined : promisedAt;
}

function showObservation(entry: VerdictEntry | undefined): ShownObservation | undefined {
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

export function showAssignment(assignment: Assignment, keptByApiServer = false): AssignmentStatus {
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
    ...(assignment.planned && { planned: true as const }),
    ...(keptByApiServer && { keptByApiServer }),
    mems: assignment.mems,
    requested: assignment.requested,
    because: assignment.because,
    since: assignment.since,
    rules: assignment.rules,
  };
}
