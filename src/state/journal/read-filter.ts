import { type CpuSet, tryParseCpuList } from '../../core/cpuset';
import { parseDurationMs } from '../../core/duration';
import type { PodFilter } from './select-records';

// The parts of a filter as people write them. Each is undefined for a text that breaks the rule beside it.

const DAY_MS = 24 * 3_600_000;
const LONGEST_AGO_MS = 100 * 365 * 24 * 3_600_000;

export const TIME_RULE = 'write a duration like 10m or 24h, a time like 2026-11-24T10:00:00Z, or 14:03 (UTC)';

/** A time, given as such, as a duration before now, or as a time of day in UTC: the last one. All in ms since 1970. */
export function readTime(text: string, nowMs: number): number | undefined {
  const ago = parseDurationMs(text);
  if (ago !== undefined) return ago >= 1 && ago <= LONGEST_AGO_MS ? nowMs - ago : undefined;
  const today = /^\d\d:\d\d(:\d\d)?$/.test(text)
    ? Date.parse(`${new Date(nowMs).toISOString().slice(0, 10)}T${text}Z`)
    : NaN;
  if (!Number.isNaN(today)) return today <= nowMs ? today : today - DAY_MS;
  const time = /^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:\d\d))?$/.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(time) ? undefined : time;
}

export const CPUS_RULE = 'write a number, or a list like 2-3,8';

/** One CPU, or a list with ranges. */
export function readCpus(text: string): CpuSet | undefined {
  const cpus = tryParseCpuList(text);
  return cpus?.isEmpty === false ? cpus : undefined;
}

export const POD_RULE = 'write namespace/name, the name alone, or its uid';

/** A pod. `namespace` is empty for a name or uid alone. */
export function readPod(text: string): (PodFilter & { readonly container: '' }) | undefined {
  const [, namespace = '', pod = ''] = /^(?:([^/]+)\/)?([^/]+)$/.exec(text) ?? [];
  return pod === '' ? undefined : { namespace, pod, container: '' };
}
