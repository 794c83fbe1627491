import { subjectOf } from './own-throttles';
import type { AvoidancePlan, ThrottleStep } from './plan';
import { isSameQuota, plainQuota } from './quota';
import type { Throttle } from './situation';

/** Reads the quota that the kernel has now, -1 = no limit; undefined = the container is gone, or it can't be read. */
export type ReadQuota = (id: string) => { readonly quotaUs: number; readonly periodUs: number } | undefined;

export interface CurrentSteps {
  readonly throttles: readonly ThrottleStep[];
  readonly restores: readonly ThrottleStep[];
  /** To be saved before the steps are carried out. */
  readonly throttled: readonly Throttle[];
  /** Containers whose throttle does not end, or whose end is recorded with a step; namespace/pod/container. */
  readonly settled: ReadonlySet<string>;
}

/**
 * Leaves out steps from a quota that the kernel does not have any more: the plan is based on a reading, and someone may
 * have changed it since. A throttle that the plan takes for ended stays noted while the kernel has it. `kept`:
 * throttles that the plan is not about.
 */
export function compareWithKernel(
  plan: Pick<AvoidancePlan, 'throttles' | 'restores' | 'throttled'>,
  {
    noted,
    kept,
    read,
  }: { readonly noted: readonly Throttle[]; readonly kept: readonly Throttle[]; readonly read: ReadQuota },
): CurrentSteps {
  const before = new Map(noted.map((throttle) => [throttle.id, throttle]));
  const isCurrent = ({ id, fromUs, periodUs }: ThrottleStep): boolean => {
    const now = read(id);
    return now === undefined || isSameQuota(plainQuota(now.quotaUs), fromUs, periodUs);
  };
  const [throttles, restores] = [plan.throttles.filter(isCurrent), plan.restores.filter(isCurrent)];
  const current = new Set([...throttles, ...restores]);
  const outdated = new Set(
    [...plan.throttles, ...plan.restores].filter((step) => !current.has(step)).map(({ id }) => id),
  );
  const planned = plan.throttled.flatMap((throttle) =>
    outdated.has(throttle.id) ? (before.get(throttle.id) ?? []) : throttle,
  );
  const known = new Set([...planned, ...kept].map(({ id }) => id));
  const stillThere = noted.filter(
    (throttle) =>
      !known.has(throttle.id) && read(throttle.id) !== undefined && whyNotOurs(throttle, read) === undefined,
  );
  const throttled = [...planned, ...kept, ...stillThere];
  const settled = new Set([...throttled, ...noted.filter((throttle) => hasOriginal(throttle, read))].map(subjectOf));
  return { throttles, restores, throttled, settled };
}

/**
 * The reason for which the quota is not the one of the throttle any more: putting back what was before it would be
 * wrong.
 */
export function whyNotOurs(throttle: Throttle, read: ReadQuota): string | undefined {
  const { id, quotaUs, previousUs, periodUs } = throttle;
  const now = read(id);
  if (now === undefined) return undefined;
  const isNow = (us: number): boolean => isSameQuota(plainQuota(now.quotaUs), us, periodUs);
  if (now.periodUs !== periodUs) return 'someone else changed its period';
  if (hasOriginal(throttle, read)) return 'it has its original quota already';
  return isNow(quotaUs) || isNow(previousUs) ? undefined : 'someone else changed its quota';
}

/** True when the kernel has the quota from which the step begins, so that it had no effect. */
export function hasQuotaOfBefore({ id, fromUs, periodUs }: ThrottleStep, read: ReadQuota): boolean {
  return isQuota(read(id), fromUs, periodUs);
}

function hasOriginal({ id, originalUs, periodUs }: Throttle, read: ReadQuota): boolean {
  return isQuota(read(id), originalUs, periodUs);
}

function isQuota(now: ReturnType<ReadQuota>, us: number, periodUs: number): boolean {
  return now?.periodUs === periodUs && isSameQuota(plainQuota(now.quotaUs), us, periodUs);
}
