import { InvalidArgumentError } from 'commander';

import { durationMs } from '../../app/config';
import { JOURNAL_KINDS } from '../../state/journal';

// Values of options that choose records of a journal. They throw what commander tells as wrong usage.

const duration = durationMs({ minMs: 1, maxMs: 100 * 365 * 24 * 3_600_000 });

/** The time of an option, in ms since 1970: given as such, or as a duration before now. */
export function parseSince(text: string): number {
  const ago = duration.parse(text);
  if (ago.ok) return Date.now() - ago.value;
  const time = /^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:\d\d))?$/.test(text) ? Date.parse(text) : NaN;
  if (!Number.isNaN(time)) return time;
  throw new InvalidArgumentError(
    'It is no time; write a duration like 10m or 24h, or a time like 2026-11-24T10:00:00Z.',
  );
}

/** The kinds of an option, separated by commas. */
export function parseKinds(text: string): ReadonlySet<string> {
  const kinds = text.split(',').map((kind) => kind.trim());
  const unknown = kinds.find((kind) => !JOURNAL_KINDS.some((known) => known === kind));
  if (unknown === undefined) return new Set(kinds);
  throw new InvalidArgumentError(`There is no such kind; choose from ${JOURNAL_KINDS.join(', ')}.`);
}
