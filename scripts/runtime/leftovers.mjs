// Finds, ends and counts the processes, cgroups and mounts of one private runtime.
//
// Processes of a runtime carry its folder in their environment (containerd hands it on to shims and runc); the
// processes of containers do not, but they are in cgroups below the runtime's own.
import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { codeOf } from '../shared/errors.mjs';
import { readOrEmpty } from '../shared/files.mjs';
import { readProcessStat } from '../shared/process-stat.mjs';

/** The variable that names the runtime that a process belongs to. */
export const runtimeVariable = 'CPUSETD_RUNTIME';
/** The start of the name of every runtime's folder, directly in the system's folder for temporary files. */
export const workPrefix = 'cpusetd-rt-';
/** The file in that folder that names the owner of the runtime. */
export const ownerFile = 'owner.json';

/**
 * The cgroup that all pods of a runtime are below, in every hierarchy.
 * @param {string} work
 * @returns {string}
 */
export const cgroupRootOf = (work) => `/${basename(work)}`;

/**
 * Pids of containerd, shims and runc of one runtime.
 * @param {string} work
 * @returns {number[]}
 */
export function findRuntimePids(work) {
  const mark = `${runtimeVariable}=${work}`;
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => readOrEmpty(`/proc/${pid}/environ`).split('\0').includes(mark))
    .map(Number);
}

/**
 * Pids of all processes in a runtime's containers.
 * @param {string} work
 * @returns {number[]}
 */
export function findContainerPids(work) {
  const pids = findCgroups(work).flatMap((dir) => readOrEmpty(join(dir, 'cgroup.procs')).split('\n'));
  return [...new Set(pids)].filter((pid) => pid !== '' && pid !== '0').map(Number);
}

/**
 * Cgroup folders of a runtime in every mounted hierarchy, children before parents.
 * @param {string} work
 * @returns {string[]}
 */
export function findCgroups(work) {
  /** @type {(dir: string) => string[]} */
  const listBelow = (dir) => [
    ...readDirsOrNone(dir).flatMap((name) => listBelow(join(dir, name))),
    ...(existsSync(dir) ? [dir] : []),
  ];
  const monitors = listMonitors(work);
  return listCgroupMounts().flatMap((point) => [
    ...listBelow(join(point, cgroupRootOf(work))),
    ...monitors.map((name) => join(point, name)).filter((dir) => existsSync(dir)),
  ]);
}

const monitorPrefix = 'crio-conmon-';

/**
 * CRI-O makes a cgroup for the monitor of each container, and does not remove it. That of a pod without a cgroup parent
 * is right below the root: of these, the ones whose container is in the log of this runtime.
 * @param {string} work
 * @returns {string[]} their names
 */
function listMonitors(work) {
  const names = new Set(
    listCgroupMounts()
      .flatMap(readDirsOrNone)
      .filter((name) => name.startsWith(monitorPrefix)),
  );
  const log = names.size === 0 ? '' : readOrEmpty(join(work, 'crio.log'));
  return [...names].filter((name) => log.includes(name.slice(monitorPrefix.length)));
}

/**
 * The mount points of all hierarchies of cgroups.
 * @returns {string[]}
 */
export function listCgroupMounts() {
  return readMounts()
    .filter(({ type }) => type === 'cgroup' || type === 'cgroup2')
    .map(({ point }) => point);
}

/**
 * Everything of a runtime that still exists.
 * @param {string} work
 * @returns {string[]} a line each; empty when it is gone without a trace
 */
export function listLeftovers(work) {
  return [
    ...[...findRuntimePids(work), ...findContainerPids(work)].map((pid) => `process ${pid} (${readCommand(pid)})`),
    ...findCgroups(work).map((dir) => `cgroup ${dir}`),
    ...readMounts()
      .filter(({ point, root }) => [point, root].some((path) => path === work || path.startsWith(`${work}/`)))
      .map(({ point }) => `mount ${point}`),
    ...(existsSync(work) ? [`folder ${work}`] : []),
  ];
}

/**
 * Ends containers, then shims and containerd, then removes cgroups and folder. Harmless when nothing is left.
 * @param {string} work
 * @param {number} deadlineMs
 * @returns {Promise<void>}
 */
export async function removeRuntime(work, deadlineMs = 60_000) {
  const end = Date.now() + deadlineMs;
  await killProcesses(work, end);
  await waitFor(() => findCgroups(work).every(removeCgroup), end);
  // Without the namespace there is nothing mounted below the folder that a removal could reach into.
  if (listLeftovers(work).every((line) => line.startsWith('folder'))) rmSync(work, { recursive: true, force: true });
}

/**
 * Ends all processes and removes the cgroups of containers, as a power failure does. Files and mounts are kept.
 * @param {string} work
 * @param {number} deadlineMs
 * @returns {Promise<void>}
 * @throws {Error} when something is left at the deadline
 */
export async function endProcesses(work, deadlineMs = 60_000) {
  const end = Date.now() + deadlineMs;
  const findBelowRoot = () => findCgroups(work).filter((dir) => !dir.endsWith(cgroupRootOf(work)));
  await killProcesses(work, end);
  await waitFor(() => findBelowRoot().every(removeCgroup), end);
  const left = [...findContainerPids(work), ...findRuntimePids(work), ...findBelowRoot()];
  if (left.length > 0) throw new Error(`still there: ${left.join(', ')}`);
}

/** @param {string} work @param {number} end */
async function killProcesses(work, end) {
  await killUntilGone(() => findContainerPids(work), end); // while shims live, they reap what they started
  await killUntilGone(() => findRuntimePids(work), end);
  await killUntilGone(() => findContainerPids(work), end); // a runc that was just starting one
}

/**
 * Removes runtimes whose owner died without doing so.
 * @param {string} dir
 * @returns {Promise<string[]>} their folders
 */
export async function removeAbandonedRuntimes(dir = tmpdir()) {
  const abandoned = readdirSync(dir)
    .filter((name) => name.startsWith(workPrefix))
    .map((name) => join(dir, name))
    .filter((work) => existsSync(join(work, ownerFile)) && !isOwnerAlive(work));
  for (const work of abandoned) await removeRuntime(work);
  return abandoned;
}

/** @param {string} work */
function isOwnerAlive(work) {
  try {
    const { pid, startTime } = JSON.parse(readFileSync(join(work, ownerFile), 'utf8'));
    return readProcessStat(pid)?.startTicks === startTime;
  } catch {
    return true; // being written this very moment
  }
}

/** @param {() => number[]} findPids @param {number} end */
async function killUntilGone(findPids, end) {
  await waitFor(() => {
    const pids = findPids();
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It ended by itself in the meantime.
      }
    }
    return pids.length === 0;
  }, end);
}

/**
 * Removes a cgroup. The kernel refuses for some milliseconds after the last process has ended.
 * @param {string} dir
 * @returns {boolean} true when it is gone
 */
function removeCgroup(dir) {
  try {
    rmdirSync(dir);
  } catch (error) {
    return codeOf(error) === 'ENOENT';
  }
  return true;
}

/** @param {() => boolean} condition @param {number} end */
async function waitFor(condition, end) {
  while (!condition() && Date.now() < end) await delay(10);
}

/** Mounts of this process's namespace: `root` is the path inside the mounted file system. */
function readMounts() {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [before = '', after = ''] = line.split(' - ');
      const [, , , root = '', point = ''] = before.split(' ');
      return { root, point, type: after.split(' ')[0] };
    });
}

/** @param {number} pid */
const readCommand = (pid) => readOrEmpty(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim();

/** @param {string} dir */
function readDirsOrNone(dir) {
  try {
    return readdirSync(dir, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name);
  } catch {
    return [];
  }
}
