import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { waitUntil } from './wait-until';

const CGROUP_ROOT = '/sys/fs/cgroup';
const CONTROLLERS_V1 = ['cpuset', 'cpu', 'cpuacct', 'memory', 'cpu,cpuacct'];

/**
 * Cgroups of the real kernel in all hierarchies that count usage, as a runtime makes them for containers. Needs root.
 */
export class KernelCgroups {
  private readonly roots: readonly string[];
  private readonly isV2 = existsSync(`${CGROUP_ROOT}/cgroup.controllers`);
  private readonly made: string[] = [];
  private readonly children: ChildProcess[] = [];

  /** @param dir below the root of the hierarchy, with a slash */
  constructor(readonly dir: string) {
    this.roots = this.isV2
      ? [CGROUP_ROOT]
      : CONTROLLERS_V1.map((name) => `${CGROUP_ROOT}/${name}`).filter((root) => existsSync(root));
    if (this.isV2) writeFileSync(`${CGROUP_ROOT}/cgroup.subtree_control`, '+cpuset +cpu +memory');
    this.makeIn(dir, '0-1');
    if (this.isV2) writeFileSync(`${CGROUP_ROOT}${dir}/cgroup.subtree_control`, '+cpuset +cpu +memory');
  }

  /** Makes a cgroup on these CPUs and returns its path. */
  make(name: string, cpus: string): string {
    const path = `${this.dir}/${name}`;
    this.makeIn(path, cpus);
    return path;
  }

  private makeIn(path: string, cpus: string): void {
    for (const root of this.roots) {
      // On version 1, several names may be one hierarchy.
      if (existsSync(root + path)) continue;
      mkdirSync(root + path);
      this.made.push(root + path);
    }
    const cpusetRoot = this.isV2 ? CGROUP_ROOT : `${CGROUP_ROOT}/cpuset`;
    writeFileSync(`${cpusetRoot}${path}/cpuset.cpus`, cpus);
    writeFileSync(`${cpusetRoot}${path}/cpuset.mems`, '0');
  }

  /** Writes a control file of a controller, such as `cpu` and `cpu.shares`. */
  write(path: string, controller: string, file: string, value: string): void {
    writeFileSync(`${this.isV2 ? CGROUP_ROOT : `${CGROUP_ROOT}/${controller}`}${path}/${file}`, value);
  }

  /** Starts a process and moves it into the cgroup. */
  async run(path: string, command: string, ...args: string[]): Promise<ChildProcess> {
    const child = spawn(command, args, { stdio: 'ignore' });
    this.children.push(child);
    await once(child, 'spawn');
    for (const root of this.roots) writeFileSync(`${root}${path}/cgroup.procs`, `${child.pid!}`);
    return child;
  }

  /** Ends the processes and removes all cgroups. */
  async remove(): Promise<void> {
    const running = this.children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
    const ended = running.map((child) => once(child, 'exit'));
    for (const child of running) child.kill('SIGKILL');
    await Promise.all(ended);
    for (const path of [...this.made].reverse()) {
      // A process leaves its cgroup shortly after its parent gets the exit.
      await waitUntil(`${path} is empty`, () => {
        try {
          rmdirSync(path);
          return true;
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code === 'EBUSY') return false;
          throw error;
        }
      });
    }
  }
}
