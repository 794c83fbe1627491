import { CpuSet } from '../cpuset';
import { hasCgroup, samePromise, type Container } from '../model/container';
import { namesIn } from '../model/names-of';
import type { Move } from '../plan/plan-moves';
import { planQuotas, type QuotaStep } from '../plan/plan-quotas';
import type { LikelyCause } from '../verdict/drift-cause';
import { judge, type Verdict } from '../verdict/judge';
import type { Observation, Seen } from '../verdict/observation';
import type { RepairDecision } from '../verdict/repair-backoff';
import type { Draft } from './draft';
import { planChanges } from './outcome';

export interface Judged {
  readonly containerId: string;
  readonly verdict: Verdict;
  /** Where the kernel has something else than was promised. */
  readonly drift?: Drift;
  /** CFS quotas that are not what they have to be. */
  readonly quotas?: readonly QuotaStep[];
}

export interface Drift extends Partial<LikelyCause> {
  readonly action: RepairDecision['action'];
}

/** What is known beside the model when a drift is met. */
export interface DriftPolicy {
  readonly explain: (container: Container, seen: Seen) => LikelyCause;
  readonly restrain: (container: Container) => RepairDecision;
}

/**
 * Compares what was promised with what the kernel has. What drifted is learnt as it is; the moves that come back put
 * it right, on the same path as any other change, and the runtime's record counts as unknown, so that it is written
 * again. Without a policy every drift is repaired, and nobody asks why.
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
      if (isQuotaSeen(observation, planned)) learnKept(draft, container);
      return { containerId, verdict, ...quotas };
    }
    const drift = handleDrift(draft, container, { seen: observation, verdict }, policy);
    return { containerId, verdict: { ...verdict, because: tell(verdict, drift) }, drift, ...quotas };
  });
  return { judged, moves: planChanges(draft) };
}

/** The container's own quota was read, and is as it has to be. */
function isQuotaSeen({ unread = [] }: Seen, planned: readonly QuotaStep[]): boolean {
  return [...unread, ...planned].every(({ of }) => of !== 'container');
}

/** The kernel has what was promised, whoever carried it out; what we believed before could keep a later move from being made. */
function learnKept(draft: Draft, container: Container): void {
  const { promise, told } = container;
  if (!promise || !hasCgroup(container) || samePromise(told, promise)) return;
  draft.put({ kind: 'put-container', container: { ...container, told: promise } });
}

function handleDrift(
  draft: Draft,
  container: Container,
  { seen, verdict }: { seen: Seen; verdict: Verdict },
  policy: DriftPolicy | undefined,
): Drift {
  const likely = policy?.explain(container, seen);
  const action = policy?.restrain(container).action ?? 'repair';
  if (action !== 'repair') return { ...likely, action };
  const { told: _told, recorded: _recorded, ...rest } = container;
  const mems = container.promise?.mems.isEmpty ? CpuSet.empty : seen.mems;
  draft.put({ kind: 'put-container', container: { ...rest, told: { cpus: seen.cpus, mems } } });
  draft.report({
    kind: 'drifted',
    who: namesIn(draft.model, container),
    promised: container.promise?.cpus,
    found: seen.cpus,
    cause: likely?.cause,
    because: tell(verdict, { ...likely, action }),
  });
  return { ...likely, action };
}

function tell({ because }: Verdict, { because: why, action }: Drift): string {
  const parts = [because];
  if (why !== undefined) parts.push(`likely cause: ${why}`);
  if (action === 'wait') parts.push('the repair waits: it was changed again after each of the last ones');
  if (action === 'stop') parts.push('repairs have stopped: someone changes it again each time; find out who');
  return parts.join('; ');
}
