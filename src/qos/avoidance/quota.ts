import type { QosContainer } from '../objects/objects';

/** No quota. */
export const UNLIMITED = -1;

/** The kernel takes no smaller quota. */
export const LEAST_QUOTA_US = 1000;

/** Minimum of a container without a limit, in milli-CPU. */
export const LEAST_MILLI_CPU = 10;

/** A container that has no original quota has none again above this: 60 CPUs. */
const MOST_MILLI_CPU = 60_000;

export interface Ratios {
  /** Per cent, 0 to 100. */
  readonly min: number;
  readonly step: number;
}

/** A container's quota and what decides about it. */
export interface QuotaView {
  /** `UNLIMITED` = none. */
  readonly quotaUs: number;
  readonly periodUs: number;
  /** Its use; absent = unknown. */
  readonly milliCpu?: number;
  readonly spec: QosContainer;
  /** Its use at the first step. Absent = not throttled yet, or unknown. */
  readonly baseMilliCpu?: number;
}

/** `floor` names the minimum that stopped the step; `fromUseUs` is there where the step began at the use. */
export type Lowered =
  { readonly toUs: number; readonly floor?: string; readonly fromUseUs?: number } | { readonly because: string };

/**
 * One step down: by `step` per cent of the quota; of the use where there is no quota, or where such a step would leave
 * the quota above the use and so release nothing. Not below the request; not below `min` per cent of the limit, or
 * without a limit of the use at the first step. Returns a reason where that changes less than 1 %, or would release
 * nothing.
 */
export function lowerQuota(view: QuotaView, ratios: Ratios): Lowered {
  const { quotaUs, periodUs, milliCpu } = view;
  const useUs = milliCpu === undefined ? undefined : (milliCpu * periodUs) / 1000;
  const step = (us: number): number => Math.round((us * (100 - percent(ratios.step))) / 100);
  const isFromUse = quotaUs === UNLIMITED || (useUs !== undefined && step(quotaUs) >= useUs);
  const fromUs = isFromUse ? useUs : quotaUs;
  if (fromUs === undefined) return { because: 'it has no quota and its use is unknown' };
  const floor = floorOf(view, ratios.min);
  if (!floor) return { because: 'it has no CPU limit and its use is unknown' };

  const stepped = step(fromUs);
  const toUs = Math.max(stepped, floor.us);
  const what = isFromUse ? 'use' : 'quota';
  const shown = `its ${what} of ${Math.round(fromUs)} us`;
  if (toUs >= fromUs && floor.us > stepped) return { because: `${shown} is not above its minimum, ${floor.text}` };
  if ((fromUs - toUs) * 100 < fromUs) return { because: `a step from ${shown} to ${toUs} us is less than 1 %` };
  if (useUs !== undefined && toUs >= useUs)
    return { because: `its use of ${Math.round(useUs)} us is not above its minimum, ${floor.text}` };
  const isSlack = isFromUse && quotaUs !== UNLIMITED;
  return { toUs, ...(floor.us >= stepped && { floor: floor.text }), ...(isSlack && { fromUseUs: fromUs }) };
}

/**
 * One step up; the original at the end, `UNLIMITED` where that was none. A step is at least 1 %, so that every throttle
 * ends.
 */
export function raiseQuota(view: QuotaView, step: number, originalUs: number): number {
  const { quotaUs, periodUs, spec } = view;
  const raised = Math.round((quotaUs * (100 + Math.max(1, percent(step)))) / 100);
  const nextUs = Math.max(raised, requestUs(view));
  if (originalUs !== UNLIMITED) return Math.min(nextUs, originalUs);
  const milliCpu = (nextUs * 1000) / periodUs;
  const most = spec.limitMilliCpu || spec.elasticLimitMilliCpu;
  return (most ? milliCpu >= most : milliCpu > MOST_MILLI_CPU) ? UNLIMITED : nextUs;
}

/** The quota that the CPU request needs, in µs; 0 without a request. */
export function requestUs({ periodUs, spec }: Pick<QuotaView, 'periodUs' | 'spec'>): number {
  return wholeUp(((spec.requestMilliCpu ?? 0) * periodUs) / 1000);
}

/** The quota of a CPU limit, in µs. */
export function limitUs(limitMilliCpu: number, periodUs: number): number {
  return wholeUp((limitMilliCpu * periodUs) / 1000);
}

/** Tells whether the kernel's quota is the remembered one. systemd may have rounded it up to a hundredth of a CPU. */
export function isSameQuota(kernelUs: number, rememberedUs: number, periodUs: number): boolean {
  if (kernelUs === rememberedUs) return true;
  if (rememberedUs === UNLIMITED || kernelUs === UNLIMITED) return false;
  return kernelUs === Math.floor((Math.ceil((rememberedUs * 100) / periodUs) * periodUs) / 100);
}

/** The kernel's quota with one value for none. */
export function plainQuota(quotaUs: number): number {
  return quotaUs > 0 ? quotaUs : UNLIMITED;
}

function floorOf(view: QuotaView, minRatio: number): { readonly us: number; readonly text: string } | undefined {
  const { periodUs, spec } = view;
  const base = view.baseMilliCpu ?? view.milliCpu;
  const limit = spec.limitMilliCpu || undefined;
  if (limit === undefined && base === undefined) return undefined;
  const ofLimit = `${percent(minRatio)} % of its limit of ${limit} milli-CPU`;
  const ofBase = `${percent(minRatio)} % of its use of ${Math.round(base ?? 0)} milli-CPU before the first step`;
  const floors = [
    { us: LEAST_QUOTA_US, text: `the kernel's least quota of ${LEAST_QUOTA_US} us` },
    { us: requestUs(view), text: `its request of ${spec.requestMilliCpu} milli-CPU` },
    ...(limit === undefined
      ? [{ us: wholeUp((LEAST_MILLI_CPU * periodUs) / 1000), text: `${LEAST_MILLI_CPU} milli-CPU` }]
      : []),
    { us: wholeUp(((limit ?? base ?? 0) * percent(minRatio) * periodUs) / 100_000), text: limit ? ofLimit : ofBase },
  ];
  return floors.reduce((most, floor) => (floor.us > most.us ? floor : most));
}

/** Rounds up; an error of the last digits is no reason to. */
function wholeUp(us: number): number {
  return Math.ceil(us - 1e-6);
}

function percent(ratio: number): number {
  return Math.min(100, Math.max(0, ratio));
}
