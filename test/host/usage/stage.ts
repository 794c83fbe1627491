import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { TimeSlices } from '../../../src/host';
import { UsageReader, type ContainerToRead, type UsageReading } from '../../../src/host/usage';

/** Files by their paths below the root of the stage: `proc/…`, `sys/…` and `cgroup/…`. */
export type Files = Readonly<Record<string, string>>;

export function writeFiles(root: string, files: Files): void {
  for (const [name, content] of Object.entries(files)) {
    const path = join(root, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }
}

/** Reads a staged machine once, without any pause unless `sliceMs` is given. */
export async function readStage(
  root: string,
  {
    containers = [],
    interfaces = [],
    sliceMs = 60_000,
  }: { containers?: readonly ContainerToRead[]; interfaces?: readonly string[]; sliceMs?: number } = {},
): Promise<UsageReading> {
  const [cgroupRoot, sysfsRoot, procRoot] = ['cgroup', 'sys', 'proc'].map((name) => join(root, name));
  const reader = new UsageReader({ cgroupRoot: cgroupRoot!, sysfsRoot: sysfsRoot!, procRoot: procRoot! });
  return reader.read({ containers, interfaces }, new TimeSlices(sliceMs));
}

/** The least files of a machine with cgroups of version 2. */
export const V2_MACHINE: Files = {
  'cgroup/cgroup.controllers': 'cpuset cpu io memory pids\n',
  'proc/stat': 'cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 3 50 5 6 7 8 9 10\n',
};

/** The same with version 1. */
export const V1_MACHINE: Files = {
  'cgroup/cpuset/cpuset.cpus': '0-3\n',
  'cgroup/cpuset/tasks': '1\n',
  'cgroup/cpu,cpuacct/cpu.shares': '1024\n',
  'cgroup/cpu,cpuacct/cpuacct.usage': '1\n',
  'cgroup/memory/memory.usage_in_bytes': '1\n',
  'proc/stat': V2_MACHINE['proc/stat']!,
};
