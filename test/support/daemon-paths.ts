import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nameOf, OPTION_KEYS, OPTIONS } from '../../src/app/config/options';
import { loadMachine, writeTree } from './sysfs-tree';

/** Options of a daemon, by their names; undefined leaves one out. */
export type DaemonOptions = Readonly<Record<string, string | undefined>>;

/**
 * All options of `cpusetd run` that are paths of the host by default, each below this folder. A daemon of a test gets
 * them all: on a host with a cpusetd of its own it meets neither its files nor its sockets, and it needs no rights
 * there.
 */
export function daemonPaths(folder: string): Record<string, string> {
  const keys = OPTION_KEYS.filter((key) => OPTIONS[key].default?.startsWith('/'));
  const paths = Object.fromEntries(keys.map((key) => [nameOf(key), join(folder, nameOf(key))]));
  return { ...paths, 'sysfs-root': join(folder, 'sys'), 'cgroup-root': join(folder, 'cgroup') };
}

/** Makes the host of such a daemon: a machine, and cgroups of version 2 that are plain files. */
export function makeDaemonHost(folder: string, machine: string): void {
  const tree = loadMachine(machine);
  writeTree(folder, tree);
  makeCgroupRoot(join(folder, 'cgroup'), tree['/sys/devices/system/cpu/online']!);
}

/** Makes the root of a hierarchy of version 2 that has these CPUs. */
export function makeCgroupRoot(directory: string, cpus: string): void {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'cgroup.controllers'), 'cpuset cpu\n');
  writeFileSync(join(directory, 'cpuset.cpus.effective'), cpus);
}

/** The arguments that start a daemon with its paths below this folder, changed by these options. */
export function daemonArguments(folder: string, options: DaemonOptions = {}): string[] {
  return ['run', ...formatFlags({ ...daemonPaths(folder), ...options })];
}

/** The same for `startDaemon` of the end-to-end tests, which adds some paths itself. */
export function rigArguments(folder: string, options: DaemonOptions = {}): string[] {
  const added = { 'state-dir': undefined, 'admin-socket': undefined, 'lock-dir': undefined };
  return formatFlags({ ...daemonPaths(folder), ...added, ...options });
}

function formatFlags(options: DaemonOptions): string[] {
  return Object.entries(options).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]));
}
