import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readBounded } from '../../files/read-bounded';

/** Files of a CPU and of the whole machine that say how it is built, below `devices/system`; a `*` stands for a number. */
const FILES = [
  ...['online', 'offline', 'possible', 'present', 'isolated', 'nohz_full', 'smt/active', 'smt/control'].map(
    (name) => `cpu/${name}`,
  ),
  'cpu/cpu*/online',
  ...[
    'core_id',
    'die_id',
    'cluster_id',
    'physical_package_id',
    'core_cpus_list',
    'thread_siblings_list',
    'package_cpus_list',
  ].map((name) => `cpu/cpu*/topology/${name}`),
  ...['level', 'type', 'id', 'size', 'shared_cpu_list'].map((name) => `cpu/cpu*/cache/index*/${name}`),
  'cpu/cpu*/cpu_capacity',
  ...['online', 'possible', 'has_cpu', 'has_memory', 'node*/cpulist', 'node*/distance'].map((name) => `node/${name}`),
];
const MAX_BYTES = 64 * 1024;

/**
 * The files of sysfs that a topology is read from, as text by path: with them another machine can stand for this one. A path begins with `/sys`,
 * wherever it is mounted. Of `meminfo` it has the first line, the size of the node.
 */
export function listSysfsFiles(sysfsRoot: string): Readonly<Record<string, string>> {
  const root = join(sysfsRoot, 'devices/system');
  const found: Record<string, string> = {};
  const take = (path: string, cut = (text: string): string => text): void => {
    const read = readBounded(join(root, path), MAX_BYTES);
    if (read.ok) found[`/sys/devices/system/${path}`] = cut(read.text);
  };
  const folders = new Map<string, readonly string[]>();
  for (const pattern of FILES) for (const path of expand(root, pattern.split('/'), folders)) take(path);
  for (const path of expand(root, ['node', 'node*', 'meminfo'], folders))
    take(
      path,
      (text) =>
        text
          .split('\n')
          .filter((line) => line.includes('MemTotal'))
          .join('\n') + '\n',
    );
  return found;
}

/** The paths of a pattern. Each folder is listed once. */
function expand(root: string, pattern: readonly string[], folders: Map<string, readonly string[]>): readonly string[] {
  let paths = [''];
  for (const part of pattern) {
    paths = paths.flatMap((path) => {
      if (!part.endsWith('*')) return [join(path, part)];
      let names = folders.get(`${path}/${part}`);
      if (!names) folders.set(`${path}/${part}`, (names = listNumbered(join(root, path), part.slice(0, -1))));
      return names.map((name) => join(path, name));
    });
  }
  return paths;
}

/** `cpu0`, `cpu1` and so on, in the order of their numbers. */
function listNumbered(folder: string, prefix: string): readonly string[] {
  try {
    const numberOf = (name: string): number => Number(name.slice(prefix.length));
    return readdirSync(folder)
      .filter((name) => name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length)))
      .sort((a, b) => numberOf(a) - numberOf(b));
  } catch {
    return [];
  }
}
