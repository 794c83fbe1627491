import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { projectRoot } from '../e2e/rig/project-root';

/** A machine's files: path -> content; a content that begins with `->` is a symbolic link. */
export type SysfsTree = Readonly<Record<string, string>>;

/** The files that the reader of topology may read; a whole tree has thousands of files. */
const CPU_FILES =
  'topology/(core_id|die_id|physical_package_id|(core_cpus|thread_siblings|package_cpus|core_siblings|cluster_cpus)_list)' +
  '|node\\d|cache/index\\d/(level|id|size|shared_cpu_list)|cpu_capacity|acpi_cppc/highest_perf';
const NODE_FILES = 'cpulist|distance|meminfo|access\\d/initiators/node\\d+';
const OF_INTEREST = new RegExp(
  `^/sys/devices/(system/(cpu/(online|offline|isolated|cpu\\d+/(${CPU_FILES}))|node/(online|node\\d+/(${NODE_FILES})))` +
    '|cpu_(core|atom|lowpower)/cpus|virtual/memory_tiering/)',
);

/** A captured machine of test/fixtures/sysfs, by its file name without `.json`. */
export function loadMachine(name: string): SysfsTree {
  const path = join(projectRoot(), 'test/fixtures/sysfs', `${name}.json`);
  const all = JSON.parse(readFileSync(path, 'utf8')) as SysfsTree;
  return Object.fromEntries(Object.entries(all).filter(([file]) => OF_INTEREST.test(file)));
}

/**
 * The tree with other contents: a value replaces the file, null removes it. Keys are relative to
 * /sys/devices/system, and an `N*` for a number stands for every file that matches.
 */
export function changeTree(tree: SysfsTree, changes: Readonly<Record<string, string | null>>): SysfsTree {
  const result: Record<string, string> = { ...tree };
  for (const [pattern, content] of Object.entries(changes)) {
    const key = `/sys/devices/system/${pattern}`;
    const regex = new RegExp(`^${key.replaceAll('N*', '\\d+')}$`);
    const paths = pattern.includes('N*') ? Object.keys(tree).filter((path) => regex.test(path)) : [key];
    for (const path of paths) {
      if (content === null) Reflect.deleteProperty(result, path);
      else result[path] = content;
    }
  }
  return result;
}

/**
 * Writes the tree into a new temporary folder, runs the body (which may return a promise) with the folder that stands
 * for /sys, and removes it.
 */
export function withSysfs<T>(tree: SysfsTree, body: (sysfsRoot: string) => T): T {
  // A memory file system writes a thousand small files many times faster.
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'sysfs-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  let pending = false;
  try {
    writeTree(folder, tree);
    const result = body(join(folder, 'sys'));
    pending = result instanceof Promise;
    return pending ? ((result as Promise<unknown>).finally(remove) as T) : result;
  } finally {
    if (!pending) remove();
  }
}

/** Writes the tree below a folder that exists. */
export function writeTree(folder: string, tree: SysfsTree): void {
  const made = new Set<string>();
  for (const [path, content] of Object.entries(tree)) {
    const target = join(folder, path);
    const parent = dirname(target);
    if (!made.has(parent)) mkdirSync(parent, { recursive: true });
    made.add(parent);
    if (content.startsWith('->')) symlinkSync(content.slice(2), target);
    else writeFileSync(target, content);
  }
}
