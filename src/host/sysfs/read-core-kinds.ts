import { join } from 'node:path';
import { CpuSet } from '../../core/cpuset';
import type { CoreKind } from '../../core/topology';
import type { Ignored } from './ignored';
import { parseInteger, parseList, readOptional } from './read-file';

/** Intel's names of its kinds, the fastest first: performance, efficiency and low-power cores. */
const INTEL_DEVICES = ['cpu_core', 'cpu_atom', 'cpu_lowpower'];

/**
 * Files of a CPU with a number for its speed. The numbers of equal cores may differ a little, as their silicon does.
 * cpu_capacity: arm64 and RISC-V, 1024 is the fastest. highest_perf: ACPI CPPC.
 */
const SPEED_FILES = ['cpu_capacity', 'acpi_cppc/highest_perf'];

/** A core is of another kind when it is faster than the next slower one by more than this part. */
const STEP = 1 / 8;

/**
 * The kinds of cores, the fastest first; empty where all are alike or nothing is known of it. Of the sources that know
 * about every CPU the first is taken: Intel's lists, the kernel's capacity, ACPI's highest performance, and at last the
 * size of the L1 data cache, which differs between kinds of one machine.
 */
export function readCoreKinds(sysfsRoot: string, cores: readonly CpuSet[], ignored: Ignored): readonly CoreKind[] {
  const online = CpuSet.unionOf(cores);
  const sources = [
    () => readIntelKinds(join(sysfsRoot, 'devices'), online, ignored),
    ...SPEED_FILES.map((file) => () => readBySpeed(join(sysfsRoot, 'devices/system/cpu'), file, cores, ignored)),
    () => readByL1(join(sysfsRoot, 'devices/system/cpu'), cores, ignored),
  ];
  for (const read of sources) {
    const kinds = read();
    if (kinds) return kinds.length > 1 ? nameKinds(kinds) : [];
  }
  return [];
}

/** CPUs by kind, the fastest first; undefined where this source does not know all CPUs. */
type Kinds = readonly CpuSet[] | undefined;

function readIntelKinds(devices: string, online: CpuSet, ignored: Ignored): Kinds {
  const lists = INTEL_DEVICES.map((name) => {
    const path = join(devices, name, 'cpus');
    const read = (): CpuSet => parseList(path, readOptional(path) ?? '').intersect(online);
    return ignored.attempt(read, CpuSet.empty, 'the kinds of cores are not read from it');
  }).filter((cpus) => !cpus.isEmpty);
  const isWhole =
    CpuSet.unionOf(lists).equals(online) && lists.reduce((sum, { size }) => sum + size, 0) === online.size;
  return isWhole ? lists : undefined;
}

function readBySpeed(cpuRoot: string, file: string, cores: readonly CpuSet[], ignored: Ignored): Kinds {
  const speeds: { readonly speed: number; readonly cpus: CpuSet }[] = [];
  for (const cpus of cores) {
    const path = join(cpuRoot, `cpu${cpus.first!}/${file}`);
    const read = (): number | undefined => {
      const text = readOptional(path);
      return text === undefined ? undefined : parseInteger(path, text, 1);
    };
    const speed = ignored.attempt(read, undefined, 'the kinds of cores are not read from such files');
    if (speed === undefined) return undefined;
    speeds.push({ speed, cpus });
  }
  speeds.sort((a, b) => b.speed - a.speed);
  const kinds: CpuSet[] = [];
  let last = Infinity;
  for (const { speed, cpus } of speeds) {
    const begins = last === Infinity || last > speed * (1 + STEP);
    if (begins) kinds.push(cpus);
    else kinds.push(kinds.pop()!.union(cpus));
    last = speed;
  }
  return kinds;
}

/** Cores with more threads are the faster ones, then those with the larger cache. */
function readByL1(cpuRoot: string, cores: readonly CpuSet[], ignored: Ignored): Kinds {
  const kinds = new Map<string, { readonly threads: number; readonly kib: number; readonly cpus: CpuSet[] }>();
  for (const cpus of cores) {
    const path = join(cpuRoot, `cpu${cpus.first!}/cache/index0/size`);
    const text = ignored.attempt(
      () => readOptional(path),
      undefined,
      'the kinds of cores are not read from such files',
    );
    const match = /^(\d{1,6})K$/.exec(text ?? '');
    if (!match) return undefined;
    const kind = kinds.get(match[1]!) ?? { threads: 0, kib: Number(match[1]), cpus: [] };
    kind.cpus.push(cpus);
    kinds.set(match[1]!, { ...kind, threads: Math.max(kind.threads, cpus.size) });
  }
  return [...kinds.values()]
    .sort((a, b) => b.threads - a.threads || b.kib - a.kib)
    .map(({ cpus }) => CpuSet.unionOf(cpus));
}

function nameKinds(kinds: readonly CpuSet[]): readonly CoreKind[] {
  const between = kinds.length - 2;
  return kinds.map((cpus, i) => {
    if (i === 0) return { name: 'performance', cpus };
    if (i === kinds.length - 1) return { name: 'efficiency', cpus };
    return { name: between === 1 ? 'middle' : `middle-${i}`, cpus };
  });
}
