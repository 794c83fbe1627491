import { InvalidArgumentError } from 'commander';

import type { CpuSet } from '../../core/cpuset';
import { CPUS_RULE, JOURNAL_KINDS, readCpus, readTime, TIME_RULE } from '../../state/journal';

// Values of options that choose records of a journal. They throw what commander reports as wrong usage.

/** The time of an option, in ms since 1970: given as such, or as a duration before now. */
export function parseTime(text: string): number {
  const time = readTime(text, Date.now());
  if (time === undefined) throw new InvalidArgumentError(`It is no time; ${TIME_RULE}.`);
  return time;
}

/** The CPUs of an option: one, or a list with ranges. */
export function parseCpus(text: string): CpuSet {
  const cpus = readCpus(text);
  if (!cpus) throw new InvalidArgumentError(`It is no CPU; ${CPUS_RULE}.`);
  return cpus;
}

/** The kinds of an option, separated by commas. */
export function parseKinds(text: string): ReadonlySet<string> {
  const kinds = text.split(',').map((kind) => kind.trim());
  const unknown = kinds.find((kind) => !JOURNAL_KINDS.some((known) => known === kind));
  if (unknown === undefined) return new Set(kinds);
  throw new InvalidArgumentError(`There is no such kind; choose from ${JOURNAL_KINDS.join(', ')}.`);
}
