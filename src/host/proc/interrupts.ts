import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { CpuListError, parseCpuList, type CpuSet } from '../../core/cpuset';
import { systemCodeOf } from '../../core/system-errors';
import type { TimeSlices } from './time-slices';

/** The number of times that each CPU has handled one kind of interrupt since the boot. */
export interface InterruptCounts {
  /** A number of /proc/irq, a kernel's own interrupt such as `LOC`, or a softirq such as `NET_RX`. */
  readonly name: string;
  /** Controller and devices, as the kernel describes them; empty for softirqs. */
  readonly source: string;
  /** By the id of the CPU, online ones only. */
  readonly counts: ReadonlyMap<number, number>;
}

/** The interrupts of /proc/interrupts. Throws the system's error when it can't be read. */
export function readInterrupts(procRoot = '/proc'): readonly InterruptCounts[] {
  return parseCounts(readFileSync(`${procRoot}/interrupts`, 'utf8'));
}

/** The softirqs of /proc/softirqs. Throws the system's error when it can't be read. */
export function readSoftirqs(procRoot = '/proc'): readonly InterruptCounts[] {
  return parseCounts(readFileSync(`${procRoot}/softirqs`, 'utf8'));
}

/**
 * A table whose first line names the CPUs that are online, and each other line an interrupt with a count for each of
 * them. Interrupts of the machine as a whole (`ERR`, `MIS`) have one count and are left out.
 */
function parseCounts(text: string): readonly InterruptCounts[] {
  const [header = '', ...lines] = text.split('\n');
  const cpus = readHeader(header);
  return lines.flatMap((line) => {
    const row = readRow(line, cpus.length);
    if (!row) return [];
    return [{ name: row.name, source: row.source, counts: new Map(cpus.map((id, i) => [id, row.counts[i]!])) }];
  });
}

function readHeader(line: string): readonly number[] {
  return [...line.matchAll(/CPU(\d+)/g)].map(([, id]) => Number(id));
}

function readRow(line: string, cpus: number) {
  const [, name, rest = ''] = /^\s*([^:\s]+):\s*(.*)$/.exec(line) ?? [];
  const fields = rest.split(/\s+/);
  const counts = fields.slice(0, cpus);
  if (name === undefined || counts.length < cpus || !counts.every((count) => /^\d+$/.test(count))) return undefined;
  return { name, source: fields.slice(cpus).join(' ').trim(), counts: counts.map(Number) };
}

/** The kinds of interrupts that are summed up; they are labels of metrics and therefore fixed. */
export const INTERRUPT_KINDS = ['device', 'kernel', 'softirq'] as const;
export type InterruptKind = (typeof INTERRUPT_KINDS)[number];

/** Sums since the boot, by the id of the CPU. */
export type InterruptTotals = Readonly<Record<InterruptKind, ReadonlyMap<number, number>>>;

/**
 * Sums up the interrupts of each CPU, with turns for others in between: on a large machine the tables have megabytes.
 * Throws the system's error when they can't be read.
 */
export async function readInterruptTotals(slices: TimeSlices, procRoot = '/proc'): Promise<InterruptTotals> {
  const totals = {
    device: new Map<number, number>(),
    kernel: new Map<number, number>(),
    softirq: new Map<number, number>(),
  };
  const addUp = async (text: string, kindOf: (name: string) => InterruptKind): Promise<void> => {
    const [header = '', ...lines] = text.split('\n');
    const cpus = readHeader(header);
    for (const line of lines) {
      if (slices.isOver) await slices.rest();
      const row = readRow(line, cpus.length);
      if (!row) continue;
      const sums = totals[kindOf(row.name)];
      cpus.forEach((cpu, i) => sums.set(cpu, (sums.get(cpu) ?? 0) + row.counts[i]!));
    }
  };
  await addUp(await readFile(`${procRoot}/interrupts`, 'utf8'), (name) => (/^\d+$/.test(name) ? 'device' : 'kernel'));
  await addUp(await readFile(`${procRoot}/softirqs`, 'utf8'), () => 'softirq');
  return totals;
}

/** The CPUs of one interrupt. */
export interface IrqAffinity {
  readonly irq: number;
  /** CPUs that it was given. */
  readonly allowed: CpuSet;
  /** CPUs that it is really sent to; absent where the kernel does not say. */
  readonly effective?: CpuSet;
}

/** All interrupts that have an affinity, ascending. One that goes away meanwhile is left out. */
export function listIrqAffinities(procRoot = '/proc'): readonly IrqAffinity[] {
  const numbers = readdirSync(`${procRoot}/irq`).filter((name) => /^\d+$/.test(name));
  return numbers
    .map(Number)
    .sort((a, b) => a - b)
    .flatMap((irq) => {
      const allowed = readList(`${procRoot}/irq/${irq}/smp_affinity_list`);
      if (!allowed) return [];
      const effective = readList(`${procRoot}/irq/${irq}/effective_affinity_list`);
      return [{ irq, allowed, ...(effective && !effective.isEmpty && { effective }) }];
    });
}

/** The interrupt was freed, or has no affinity. */
const GONE: ReadonlySet<string> = new Set(['ENOENT', 'ESRCH', 'EIO']);

function readList(path: string): CpuSet | undefined {
  try {
    return parseCpuList(readFileSync(path, 'utf8').trim());
  } catch (error) {
    if (error instanceof CpuListError || GONE.has(systemCodeOf(error) ?? '')) return undefined;
    throw error;
  }
}
