import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { readBounded } from '../../files/read-bounded';

/** Files that say how the machine is built, below `devices`; a `*` stands for a number, or for a name at the end. */
const FILES = [
  ...['online', 'offline', 'possible', 'present', 'isolated', 'nohz_full', 'smt/active', 'smt/control'].map(
    (name) => `system/cpu/${name}`,
  ),
  'system/cpu/cpu*/online',
  ...[
    'core_id',
    'die_id',
    'cluster_id',
    'physical_package_id',
    'core_cpus_list',
    'thread_siblings_list',
    'cluster_cpus_list',
    'package_cpus_list',
    'core_siblings_list',
  ].map((name) => `system/cpu/cpu*/topology/${name}`),
  ...['level', 'type', 'id', 'size', 'shared_cpu_list'].map((name) => `system/cpu/cpu*/cache/index*/${name}`),
  'system/cpu/cpu*/cpu_capacity',
  'system/cpu/cpu*/acpi_cppc/highest_perf',
  ...['cpu_core', 'cpu_atom', 'cpu_lowpower'].map((kind) => `${kind}/cpus`),
  ...['online', 'possible', 'has_cpu', 'has_memory', 'node*/cpulist', 'node*/distance'].map(
    (name) => `system/node/${name}`,
  ),
  'virtual/memory_tiering/memory_tier*/nodelist',
];
const MEMORY = 'system/node/node*/meminfo';
/** Links to nodes, of which only the names are of interest. */
const INITIATORS = ['access0', 'access1'].map((access) => `system/node/node*/${access}/initiators/node*`);
const MAX_BYTES = 64 * 1024;

/**
 * The files of sysfs that a topology is read from, as text by path: with them another machine can stand for this one. A
 * path begins with `/sys`, wherever it is mounted. Of `meminfo` it has the first line, the size of the node; a link
 * begins with `->`.
 */
export function listSysfsFiles(sysfsRoot: string): Readonly<Record<string, string>> {
  const root = join(sysfsRoot, 'devices');
  const found: Record<string, string> = {};
  const take = (path: string, cut = (text: string): string => text): void => {
    const read = readBounded(join(root, path), MAX_BYTES);
    if (read.ok) found[`/sys/devices/${path}`] = cut(read.text);
  };
  const folders = new Map<string, readonly string[]>();
  const expandAll = (pattern: string): readonly string[] => expand(root, pattern.split('/'), folders);
  for (const path of FILES.flatMap(expandAll)) take(path);
  for (const path of expandAll(MEMORY))
    take(
      path,
      (text) =>
        text
          .split('\n')
          .filter((line) => line.includes('MemTotal'))
          .join('\n') + '\n',
    );
  for (const path of INITIATORS.flatMap(expandAll)) found[`/sys/devices/${path}`] = `->../../../${basename(path)}`;
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
