/** Shares of a container that asks for no CPU; also what 1m and 2m become. */
export const MIN_SHARES = 2;
/** The kernel's upper bound of shares: everything from 256 CPUs on looks the same. */
export const MAX_SHARES = 262_144;
const SHARES_PER_CPU = 1024;
const MIN_QUOTA_US = 1000;
/** The period that kubelet and kernel use when none is named. */
export const DEFAULT_PERIOD_US = 100_000;

/** The CPU shares the kubelet sends for a request in thousandths of a CPU. */
export function sharesOfMilli(milliCpu: number): number {
  if (milliCpu <= 0) return MIN_SHARES;
  return Math.min(Math.max(Math.floor((milliCpu * SHARES_PER_CPU) / 1000), MIN_SHARES), MAX_SHARES);
}

/** The CFS quota in µs per period that the kubelet sends for a limit in thousandths of a CPU; 0 = none. */
export function quotaUsOfMilli(milliCpu: number, periodUs: number = DEFAULT_PERIOD_US): number {
  if (milliCpu <= 0) return 0;
  return Math.max(Math.floor((milliCpu * periodUs) / 1000), MIN_QUOTA_US);
}

/**
 * Thousandths of a CPU that the shares stand for: exact from 3m to 255,999m, else the highest or lowest that is
 * possible.
 */
export function milliOfShares(shares: number): number {
  return Math.ceil((shares * 1000) / SHARES_PER_CPU);
}

/**
 * Whole CPUs that the shares stand for, or undefined when they stand for a fraction, for none, or are at the upper
 * bound and stand for anything from 256 CPUs. Exact: no fraction of a CPU has shares that are a multiple of 1024.
 */
export function wholeCpusOfShares(shares: number): number | undefined {
  if (!Number.isSafeInteger(shares) || shares < SHARES_PER_CPU || shares >= MAX_SHARES) return undefined;
  return shares % SHARES_PER_CPU === 0 ? shares / SHARES_PER_CPU : undefined;
}

/** Whole CPUs that quota and period stand for, or undefined. A period that is missing or 0 is the default one. */
export function wholeCpusOfQuota(quotaUs: number, periodUs: number | undefined): number | undefined {
  const period = periodUs === undefined || periodUs <= 0 ? DEFAULT_PERIOD_US : periodUs;
  const cpus = quotaUs / period;
  return Number.isSafeInteger(cpus) && cpus >= 1 ? cpus : undefined;
}
