import { InvalidArgumentError } from 'commander';

import { durationMs } from '../../app/config';
import { CpuListError, type CpuSet, parseCpuList } from '../../core/cpuset';
import { JOURNAL_KINDS } from '../../state/journal';

// Values of options that choose records of a journal. They throw what commander tells as wrong usage.

const duration = durationMs({ minMs: 1, maxMs: 100 * 365 * 24 * 3_600_000 });

/** The time of an option, in ms since 1970: given as such, as a duration before now, or as a time of day in UTC, the last one. */
export function parseTime(text: string): number {
  const ago = duration.parse(text);
  const now = Date.now();
  if (ago.ok) return now - ago.value;
  if (/^\d\d:\d\d(:\d\d)?$/.test(text)) {
    const today = Date.parse(`${new Date(now).toISOString().slice(0, 10)}T${text}Z`);
    if (!Number.isNaN(today)) return today <= now ? today : today - 24 * 3_600_000;
  }
  const time = /^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:\d\d))?$/.test(text) ? Date.parse(text) : NaN;
  if (!Number.isNaN(time)) return time;
  throw new InvalidArgumentError(
    'It is no time; write a duration like 10m or 24h, a time like 2026-11-24T10:00:00Z, or 14:03 (UTC).',
  );
}

/** The CPUs of an option: one, or a list with ranges. */
export function parseCpus(text: string): CpuSet {
  try {
    const cpus = parseCpuList(text);
    if (!cpus.isEmpty) return cpus;
  } catch (error) {
    if (!(error instanceof CpuListError)) throw error;
  }
  throw new InvalidArgumentError('It is no CPU; write a number, or a list like 2-3,8.');
}

/** The kinds of an option, separated by commas. */
export function parseKinds(text: string): ReadonlySet<string> {
  const kinds = text.split(',').map((kind) => kind.trim());
  const unknown = kinds.find((kind) => !JOURNAL_KINDS.some((known) => known === kind));
  if (unknown === undefined) return new Set(kinds);
  throw new InvalidArgumentError(`There is no such kind; choose from ${JOURNAL_KINDS.join(', ')}.`);
}
