/** CPUs or memory nodes: a set, or the list of one. */
interface Listed {
  toString(): string;
}

/** A container in the status, as an object of the daemon or as JSON of `cpusetd status`. */
export interface ShownRow {
  readonly id: string;
  readonly promise?: { readonly cpus: Listed; readonly mems?: Listed; readonly since?: string };
  readonly observation?: {
    readonly cpus: Listed;
    readonly effectiveCpus: Listed;
    readonly mems?: Listed;
    readonly at: string;
  };
  readonly verdict: { readonly kind: string; readonly since?: string };
}

/** `stepped`: times of before and after a step can't be compared. */
type Clock = 'steady' | 'stepped';

/**
 * Finds containers whose status contradicts itself. A verdict of "kept" needs an observation that is later than the
 * promise and equal to it. Containers without a promise are left out.
 */
export function findContradictions(
  rows: readonly ShownRow[],
  { clock = 'steady' }: { readonly clock?: Clock } = {},
): string[] {
  return rows.flatMap((row) =>
    contradictionsIn(row, clock).map((problem) => `${row.id} is ${row.verdict.kind}: ${problem}`),
  );
}

function contradictionsIn({ promise, observation, verdict }: ShownRow, clock: Clock): string[] {
  if (!promise || !['kept', 'held-under-old-rules'].includes(verdict.kind)) return [];
  if (!observation) return ['there is no observation'];
  const broken: string[] = [];
  const differs = (what: string, seen: Listed = '', promised: Listed): void => {
    if (seen.toString() !== promised.toString())
      broken.push(`${what} ${seen.toString()}, promised ${promised.toString()}`);
  };
  differs('cpuset.cpus', observation.cpus, promise.cpus);
  differs('effective CPUs', observation.effectiveCpus, promise.cpus);
  if (promise.mems && promise.mems.toString() !== '') differs('memory nodes', observation.mems, promise.mems);
  if (promise.since === undefined) broken.push('the promise has no time');
  else if (clock === 'steady') {
    if (Date.parse(observation.at) < Date.parse(promise.since))
      broken.push(`read at ${observation.at}, promised at ${promise.since}`);
    if (verdict.since !== undefined && Date.parse(verdict.since) < Date.parse(promise.since))
      broken.push(`kept since ${verdict.since}, promised at ${promise.since}`);
  }
  return broken;
}
