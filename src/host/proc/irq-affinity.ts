import { closeSync, openSync, readdirSync, readFileSync, statSync, writeSync } from 'node:fs';
import { formatCpuMask, parseCpuMask, CpuListError, CpuSet, parseCpuList } from '../../core/cpuset';
import { DEFAULT_IRQ, type IrqReading } from '../../core/irq-affinity/plan-irq-affinity';
import { systemCodeOf } from '../../core/system-errors';
import type { TimeSlices } from './time-slices';

/** The kernel's table of interrupts as files. */
const folderOf = (procRoot: string): string => `${procRoot}/irq`;

/**
 * All interrupts that have an affinity, and the affinity of new ones, with turns for others in between. Throws the
 * system's error when the folder can't be read.
 */
export async function readIrqs(slices: TimeSlices, procRoot = '/proc'): Promise<readonly IrqReading[]> {
  const folder = folderOf(procRoot);
  const readings: IrqReading[] = [];
  for (const name of readdirSync(folder)) {
    if (slices.isOver) await slices.rest();
    const reading = /^\d+$/.test(name) ? unlessGone(() => readIrq(folder, Number(name))) : undefined;
    if (reading?.affinity.isEmpty === false) readings.push(reading);
  }
  const byDefault = unlessGone(() => parseCpuMask(readFileSync(`${folder}/default_smp_affinity`, 'utf8').trim()));
  if (byDefault?.isEmpty === false) readings.push({ irq: DEFAULT_IRQ, device: 'default', affinity: byDefault });
  return readings.sort((a, b) => a.irq - b.irq);
}

function readIrq(folder: string, irq: number): IrqReading {
  const affinity = parseCpuList(readFileSync(`${folder}/${irq}/smp_affinity_list`, 'utf8').trim());
  // Each handler has a folder.
  const handlers = readdirSync(`${folder}/${irq}`, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return {
    irq,
    device: handlers
      .map(({ name }) => name)
      .sort()
      .join(' '),
    affinity,
  };
}

export type IrqWriteOutcome =
  | { readonly ok: true }
  /**
   * `gone`: it was freed. `fixed`: the kernel never moves it. `read-only`: nothing can be moved here. `other`: not now.
   */
  | {
      readonly ok: false;
      readonly kind: 'gone' | 'fixed' | 'read-only' | 'other';
      readonly code: string;
      readonly path: string;
    };

/** Refusals of one interrupt: managed by the kernel, or of one CPU. Linux before 6.10 says EIO. */
const FIXED: ReadonlySet<string> = new Set(['EPERM', 'EIO', 'EACCES']);
/** Refusals to open the file: nothing can be moved here, unless the file is one that nobody may write. */
const READ_ONLY: ReadonlySet<string> = new Set(['EROFS', 'EACCES', 'EPERM']);
const FREED: ReadonlySet<string> = new Set(['ENOENT', 'ESRCH']);

/** Sends an interrupt to these CPUs, some of which must be online. Throws RangeError for the empty set. */
export function writeIrqAffinity(irq: number, cpus: CpuSet, procRoot = '/proc'): IrqWriteOutcome {
  if (cpus.isEmpty) throw new RangeError(`interrupt ${irq} would have no CPU`);
  const [file, text] =
    irq === DEFAULT_IRQ ? ['default_smp_affinity', formatCpuMask(cpus)] : [`${irq}/smp_affinity_list`, cpus.toString()];
  const path = `${folderOf(procRoot)}/${file}`;
  const refused = (error: unknown, kind: 'read-only' | 'fixed'): IrqWriteOutcome => {
    const code = systemCodeOf(error);
    if (code === undefined) throw error;
    if (FREED.has(code)) return { ok: false, kind: 'gone', code, path };
    const isOf = (kind === 'fixed' ? FIXED : READ_ONLY).has(code);
    return { ok: false, kind: isOf ? kind : 'other', code, path };
  };
  let fd: number;
  try {
    fd = openSync(path, 'r+');
  } catch (error) {
    return refused(error, isForNobody(path) ? 'fixed' : 'read-only');
  }
  try {
    writeSync(fd, `${text}\n`);
    return { ok: true };
  } catch (error) {
    return refused(error, 'fixed');
  } finally {
    closeSync(fd);
  }
}

/**
 * Linux 6.10 and later give interrupts of their own this mode. Root with all capabilities can open the file, and the
 * write fails.
 */
function isForNobody(path: string): boolean {
  try {
    return (statSync(path).mode & 0o222) === 0;
  } catch {
    return false;
  }
}

/** The id of this boot: numbers of interrupts have another meaning after the next one. Throws the system's error. */
export function readBootId(procRoot = '/proc'): string {
  return readFileSync(`${procRoot}/sys/kernel/random/boot_id`, 'utf8').trim();
}

/** Undefined where the interrupt was freed meanwhile, or has no affinity. */
function unlessGone<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof CpuListError || ['ENOENT', 'ESRCH', 'EIO'].includes(systemCodeOf(error) ?? ''))
      return undefined;
    throw error;
  }
}
