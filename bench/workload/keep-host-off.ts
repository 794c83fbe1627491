import { spawnSync } from 'node:child_process';
import type { CpuSet } from '../../src/core/cpuset';
import { listPids, listTids, readCgroupsOf, readTask } from '../../src/host/proc/tasks';

/**
 * Keeps the programs outside of the containers on the reserved CPUs, as `CPUAffinity=` of systemd would. Threads of the
 * kernel stay as they are: with their affinity a service manager does nothing either. Returns what gives all threads
 * their affinity back. Containers have to be created before: what is started meanwhile has the affinity of its parent.
 *
 * @param cgroupRoot the cgroup of all containers
 */
export function keepHostOff(reserved: CpuSet, online: CpuSet, cgroupRoot: string): () => void {
  const before = new Map<number, CpuSet>();
  for (const { tid, allowed } of listHostThreads(online, cgroupRoot)) {
    if (!allowed.isSubsetOf(reserved) && setAffinity(tid, reserved)) before.set(tid, allowed);
  }
  return () => {
    for (const [tid, allowed] of before) setAffinity(tid, allowed);
    // A thread that was started meanwhile has the affinity of its parent.
    for (const { tid, allowed } of listHostThreads(online, cgroupRoot))
      if (!before.has(tid) && allowed.equals(reserved)) setAffinity(tid, online);
  };
}

function* listHostThreads(online: CpuSet, cgroupRoot: string): Generator<{ tid: number; allowed: CpuSet }> {
  for (const pid of listPids()) {
    if (readCgroupsOf(pid).includes(`:${cgroupRoot}/`)) continue;
    for (const tid of listTids(pid)) {
      const thread = readTask(pid, tid, online);
      if (thread && !thread.isKernelThread) yield thread;
    }
  }
}

/** False where the thread has ended. */
function setAffinity(tid: number, cpus: CpuSet): boolean {
  return spawnSync('taskset', ['-pc', cpus.toString(), String(tid)], { stdio: 'ignore' }).status === 0;
}
