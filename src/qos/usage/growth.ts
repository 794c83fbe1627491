import type { CpuSet } from '../../core/cpuset';
import type { CpuTicks, UsageSample } from './sample';

/**
 * The growth of a counter. Undefined where one of the readings is missing, or the counter has fallen: it was reset, or
 * has wrapped.
 */
export function growthOf(before: number | undefined, after: number | undefined): number | undefined {
  return before === undefined || after === undefined || after < before ? undefined : after - before;
}

/** The growth for each unit of time. Undefined without growth or without time. */
export function rateOf(before: number | undefined, after: number | undefined, time: number): number | undefined {
  const growth = growthOf(before, after);
  return growth === undefined || !(time > 0) ? undefined : growth / time;
}

/** Idle time of these CPUs in thousandths of a CPU; undefined when none of them is in both readings. */
export function idleMilliCpuOf(
  before: Pick<UsageSample, 'cpus'>,
  after: Pick<UsageSample, 'cpus'>,
  cpus: CpuSet,
): number | undefined {
  let idle: number | undefined;
  for (const id of cpus) {
    const [then, now] = [before.cpus.get(id), after.cpus.get(id)];
    if (then && now) idle = (idle ?? 0) + 1000 * idlePart(then, now);
  }
  return idle;
}

/** Busy time of these CPUs in thousandths of a CPU; undefined when one of them is not in both readings. */
export function busyMilliCpuOf(
  before: Pick<UsageSample, 'cpus'>,
  after: Pick<UsageSample, 'cpus'>,
  cpus: CpuSet,
): number | undefined {
  let busy = 0;
  for (const id of cpus) {
    const [then, now] = [before.cpus.get(id), after.cpus.get(id)];
    if (!then || !now) return undefined;
    busy += 1000 * (1 - idlePart(then, now));
  }
  return busy;
}

/** 0 to 1. The kernel may count idle time back, and time of waiting for I/O. */
function idlePart(then: CpuTicks, now: CpuTicks): number {
  const idle = now.idle - then.idle;
  const all = now.busy - then.busy + idle;
  return all > 0 ? clamp(idle / all, 0, 1) : 0;
}

/**
 * The part of the time that the CPUs in both readings were busy, in per cent, as Crane counts it; undefined when there
 * are none.
 */
export function busyPercentOf(before: Pick<UsageSample, 'cpus'>, after: Pick<UsageSample, 'cpus'>): number | undefined {
  let [busy, all, count] = [0, 0, 0];
  for (const [id, now] of after.cpus) {
    const then = before.cpus.get(id);
    if (!then) continue;
    count++;
    busy += now.busy - then.busy;
    all += now.busy - then.busy + now.idle - then.idle;
  }
  if (count === 0) return undefined;
  if (busy <= 0) return 0;
  return all <= 0 ? 100 : clamp((busy / all) * 100, 0, 100);
}

export function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}
