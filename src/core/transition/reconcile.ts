import { CpuSet } from '../cpuset';
import { hasCgroup, samePromise, type Container } from '../model/container';
import { namesIn } from '../model/names-of';
import type { Move } from '../plan/plan-moves';
import { planQuotas, type QuotaStep } from '../verdict/plan-quotas';
import type { LikelyCause } from '../verdict/drift-cause';
import { judge, type Verdict } from '../verdict/judge';
import type { Observation, Seen } from '../verdict/observation';
import type { RepairDecision } from '../verdict/repair-backoff';
import type { Draft } from './draft';
import { planChanges } from './handle';

export interface Judged {
  readonly containerId: string;
  readonly verdict: Verdict;
  /** Set when the kernel does not have the promised cpuset. */
  readonly drift?: Drift;
  /** CFS quotas that are not what they have to be. */
  readonly quotas?: readonly QuotaStep[];
}

export interface Drift extends Partial<LikelyCause> {
  readonly action: RepairDecision['action'];
}

/** The causes of drifts, and the decisions on their repair, which depend on more than the model. */
export interface DriftPolicy {
  readonly explain: (container: Container, seen: Seen) => LikelyCause;
  readonly decideRepair: (container: Container) => RepairDecision;
}

/**
 * Compares the promises with the cpusets in the kernel. A cpuset that drifted is recorded as it is, and the moves that
 * are returned repair it, like any other change. The runtime's record of that container counts as unknown, so it is
 * written again. Without a policy every drift is repaired, and no cause is given.
 */
export function reconcile(
  draft: Draft,
  observations: ReadonlyMap<string, Observation>,
  policy?: DriftPolicy,
): { readonly judged: readonly Judged[]; readonly moves: readonly Move[] } {
  const found = [...observations].flatMap(([id, observation]) => {
    const container = draft.model.allContainers.get(id);
    return container ? [{ container, observation, verdict: judge(draft.model, container, observation) }] : [];
  });
  const judged = found.map(({ container, observation, verdict }): Judged => {
    const containerId = container.id;
    if (observation.kind !== 'seen') return { containerId, verdict };
    const planned = planQuotas(draft.model, container, observation);
    const quotas = planned.length > 0 && { quotas: planned };
    if (verdict.kind !== 'drifted') {
      if (isQuotaSeen(observation, planned)) markApplied(draft, container);
      return { containerId, verdict, ...quotas };
    }
    const drift = handleDrift(draft, container, { seen: observation, verdict }, policy);
    return { containerId, verdict: { ...verdict, because: describe(verdict, drift) }, drift, ...quotas };
  });
  return { judged, moves: planChanges(draft) };
}

/** True when the container's own quota was read and needs no change. */
function isQuotaSeen({ unread = [] }: Seen, planned: readonly QuotaStep[]): boolean {
  return [...unread, ...planned].every(({ scope }) => scope !== 'container');
}

/** The kernel has the promised cpuset, so the promise counts as applied. A stale record would suppress a later move. */
function markApplied(draft: Draft, container: Container): void {
  const { promise, applied } = container;
  if (!promise || !hasCgroup(container) || samePromise(applied, promise)) return;
  draft.put({ kind: 'put-container', container: { ...container, applied: promise } });
}

function handleDrift(
  draft: Draft,
  container: Container,
  { seen, verdict }: { seen: Seen; verdict: Verdict },
  policy: DriftPolicy | undefined,
): Drift {
  const likely = policy?.explain(container, seen);
  const action = policy?.decideRepair(container).action ?? 'repair';
  if (action !== 'repair') return { ...likely, action };
  const { applied: _applied, runtimeRecord: _recorded, ...rest } = container;
  const mems = container.promise?.mems.isEmpty ? CpuSet.empty : seen.mems;
  draft.put({ kind: 'put-container', container: { ...rest, applied: { cpus: seen.cpus, mems } } });
  draft.report({
    kind: 'drifted',
    subject: namesIn(draft.model, container),
    promised: container.promise?.cpus,
    found: seen.cpus,
    cause: likely?.cause,
    because: describe(verdict, { ...likely, action }),
  });
  return { ...likely, action };
}

function describe({ because }: Verdict, { because: why, action }: Drift): string {
  const parts = [because];
  if (why !== undefined) parts.push(`likely cause: ${why}`);
  if (action === 'wait') parts.push('the repair waits: it was changed again after each of the last ones');
  if (action === 'stop') parts.push('repairs have stopped: someone changes it again each time; find out who');
  return parts.join('; ');
}
