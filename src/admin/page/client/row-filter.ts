import { CpuSet, tryParseCpuList } from '../../../core/cpuset';

/** A row of the table, as far as a filter looks at it. */
export interface FilterRow {
  /** All that the row says, in small letters. */
  readonly text: string;
  readonly verdict: string;
  /** CPUs of its own, in the kernel's list format; empty for a container of the shared pool. */
  readonly cpus: string;
}

export interface RowFilter {
  readonly isEmpty: boolean;
  /** The CPUs that it asks for. */
  readonly cpus: CpuSet;
  readonly matches: (row: FilterRow) => boolean;
}

type Condition = (row: FilterRow) => boolean;

const CPUS = /^\d[\d,-]*$/;

/**
 * Reads what is typed into the filter. A row has to match each word of it:
 *
 * - `17`, `16-19`, `2-3,18`: it owns one of these CPUs, or has this text;
 * - `cpu 17`, `cpu:16-19`: it owns one of these CPUs;
 * - `verdict:drifted|violated`: it has one of these verdicts;
 * - any other word: it has this text.
 */
export function parseFilter(typed: string): RowFilter {
  const words = typed
    .toLowerCase()
    .replace(/(^|\s)cpus?\s+(?=\d)/g, '$1cpu:')
    .split(/\s+/)
    .filter((word) => word !== '');
  let cpus = CpuSet.empty;
  const conditions = words.map((word): Condition => {
    const [, key = '', value = ''] = /^(cpu|verdict):(.+)$/.exec(word) ?? [];
    if (key === 'verdict') {
      const kinds = new Set(value.split('|'));
      return ({ verdict }) => kinds.has(verdict);
    }
    const list = key === 'cpu' ? value : word;
    const asked = CPUS.test(list) ? tryParseCpuList(list) : undefined;
    if (!asked) return ({ text }) => text.includes(word);
    cpus = cpus.union(asked);
    const owns: Condition = (row) => row.cpus !== '' && asked.overlaps(tryParseCpuList(row.cpus) ?? CpuSet.empty);
    return key === 'cpu' ? owns : (row) => row.text.includes(word) || owns(row);
  });
  return { isEmpty: words.length === 0, cpus, matches: (row) => conditions.every((holds) => holds(row)) };
}
