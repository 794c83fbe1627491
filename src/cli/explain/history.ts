import type { ContainerExplanation, Explanation } from '../../admin/model/explanation';
import type { AllocationStep } from '../../core/allocation';
import { tryParseCpuList } from '../../core/cpuset';
import { systemCodeOf } from '../../core/system-errors';
import { findRecords, JournalError, type JournalRecord, type PodFilter } from '../../state/journal';

/** Most records of a pod that are kept, the latest. */
const MAX_RECORDS = 1_000;
/** A placement with its reason. */
const PLACED = new Set(['pinned', 'switched', 'restored', 'planned']);

/**
 * The latest records of a pod, in the order of writing; none where there is no journal. Throws JournalError for one
 * that can't be read.
 */
export async function readHistory(dir: string, pod: PodFilter, signal: AbortSignal): Promise<readonly JournalRecord[]> {
  try {
    return (await findRecords(dir, { pod }, { most: MAX_RECORDS, signal })).records;
  } catch (error) {
    if (error instanceof JournalError && systemCodeOf(error.cause) === 'ENOENT') return [];
    throw error;
  }
}

/** A container that is not on the node any more, or not under this id. */
export interface GoneContainer {
  /** The record of its last placement. */
  readonly placed: JournalRecord;
  readonly steps: readonly AllocationStep[];
  /** The last record about it, when that is another one. */
  readonly last?: JournalRecord;
}

/** Adds the steps of containers that were placed before cpusetd was started; it keeps those in memory only. */
export function addSteps(explanation: Explanation, history: readonly JournalRecord[]): Explanation {
  if (explanation.kind !== 'containers') return explanation;
  const containers = explanation.containers.map((each): ContainerExplanation => {
    if (each.steps.length > 0 || each.container.kind === undefined) return each;
    const placed = history.findLast(
      ({ kind, containerId, podUid, container }) =>
        PLACED.has(kind) &&
        (containerId ?? each.container.id) === each.container.id &&
        podUid === each.container.podUid &&
        container === each.container.container,
    );
    return placed ? { ...each, steps: stepsOf(placed) } : each;
  });
  return { ...explanation, containers };
}

/** The containers of the history that the daemon does not know, the latest last. */
export function listGone(explanation: Explanation, history: readonly JournalRecord[]): readonly GoneContainer[] {
  if (explanation.kind !== 'containers') return [];
  const known = new Set(
    [...explanation.containers.map(({ container }) => container), ...explanation.idle, ...explanation.refused].map(
      ({ podUid, container }) => `${podUid}/${container}`,
    ),
  );
  const others = new Set(explanation.others.map(({ podUid }) => podUid));
  const gone = new Map<string, GoneContainer>();
  for (const record of history) {
    const { podUid, container } = record;
    const key = `${podUid}/${container}`;
    if (podUid === undefined || container === undefined || known.has(key) || others.has(podUid)) continue;
    const before = gone.get(key);
    if (PLACED.has(record.kind) || record.kind === 'refused') {
      gone.delete(key); // the latest last
      gone.set(key, { placed: record, steps: stepsOf(record) });
    } else if (before) gone.set(key, { ...before, last: record });
  }
  return [...gone.values()];
}

/** The steps of an allocation as the record has them; what can't be read is left out. */
function stepsOf({ steps }: JournalRecord): readonly AllocationStep[] {
  if (!Array.isArray(steps)) return [];
  return steps.flatMap((step: Readonly<Record<string, unknown>> | null): AllocationStep[] => {
    const { rule, took, because } = step ?? {};
    if (typeof rule !== 'string' || typeof took !== 'string' || typeof because !== 'string') return [];
    const cpus = tryParseCpuList(took);
    return cpus ? [{ rule, took: cpus, because }] : [];
  });
}
