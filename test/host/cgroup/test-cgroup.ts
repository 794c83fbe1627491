import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openCgroups, type Cgroups } from '../../../src/host';
import { defineUnless, defineWithPrerequisite } from '../../support/not-run';
import { waitUntil } from '../../support/wait-until';

const CGROUP_ROOT = '/sys/fs/cgroup';

/**
 * A cgroup of this kernel for one test; `remove` removes it with all below it. In version 2 its children get the
 * controllers too.
 */
export class TestCgroup {
  readonly cgroups: Cgroups = openCgroups({ cgroupRoot: CGROUP_ROOT, nowMs: () => 0 }); // a busy kernel takes long
  readonly dir: string;
  private readonly roots: readonly string[];
  private readonly children: ChildProcess[] = [];

  constructor(name: string) {
    this.dir = `/cpusetd-test-${name}-${process.pid}`;
    this.roots = this.cgroups.version === 1 ? [join(CGROUP_ROOT, 'cpuset'), join(CGROUP_ROOT, 'cpu')] : [CGROUP_ROOT];
    if (this.cgroups.version === 2) writeFileSync(join(CGROUP_ROOT, 'cgroup.subtree_control'), '+cpuset +cpu');
    this.make('');
    if (this.cgroups.version === 2) writeFileSync(this.file('', 'cgroup.subtree_control'), '+cpuset +cpu');
  }

  /** Makes a cgroup below this one (`/a/b`, or empty for this one) and returns its path. */
  make(below: string, cpus = '0-1'): string {
    const dir = this.dir + below;
    for (const root of this.roots) mkdirSync(root + dir);
    writeFileSync(this.file(below, 'cpuset.mems'), '0');
    writeFileSync(this.file(below, 'cpuset.cpus'), cpus);
    return dir;
  }

  file(below: string, name: string): string {
    const root = name.startsWith('cpu.') ? this.roots.at(-1)! : this.roots[0]!;
    return `${root}${this.dir}${below}/${name}`;
  }

  text(below: string, name: string): string {
    return readFileSync(this.file(below, name), 'utf8').trim();
  }

  /** Starts a process and moves it into the cgroup. */
  async run(below: string, command: string, ...args: string[]): Promise<ChildProcess> {
    const child = spawn(command, args, { stdio: 'ignore' });
    this.children.push(child);
    await once(child, 'spawn');
    writeFileSync(this.file(below, 'cgroup.procs'), `${child.pid!}`);
    return child;
  }

  removeDir(below: string): void {
    for (const root of this.roots) removeTree(`${root}${this.dir}${below}`);
  }

  async remove(): Promise<void> {
    for (const child of this.children.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    // A process leaves its cgroup shortly after its parent gets the exit.
    await waitUntil('the test cgroup is empty', () => {
      try {
        this.removeDir('');
        return true;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EBUSY') return false;
        throw error;
      }
    });
  }
}

function removeTree(folder: string): void {
  if (!existsSync(folder)) return;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) removeTree(join(folder, entry.name));
  }
  rmdirSync(folder);
}

/**
 * `describe` for tests that need root, two CPUs and a cpuset hierarchy. Without these the tests fail in CI and are
 * skipped elsewhere. Tests of one cgroup version are skipped, also in CI, when the kernel has the other version
 * mounted.
 */
export function describeOnKernel(name: string, version: 'any' | 1, body: () => void): void {
  const found = readVersion();
  const other =
    version === 1 && found === 2
      ? 'cgroup version 1 is needed; the daemon is proven on it in machine 2x4x2-v1'
      : undefined;
  defineUnless(other, () => defineWithPrerequisite(findObstacle(), () => describe(name, body)));
}

/** The version of this kernel's cgroups; undefined where they can't be read. */
function readVersion(): 1 | 2 | undefined {
  try {
    return openCgroups({ cgroupRoot: CGROUP_ROOT }).version;
  } catch {
    return undefined; // findObstacle gives the reason
  }
}

function findObstacle(): string | undefined {
  if (process.getuid?.() !== 0) return 'root is needed to make cgroups';
  try {
    const writability = openCgroups({ cgroupRoot: CGROUP_ROOT }).probeWritable();
    return writability.writable ? undefined : writability.because;
  } catch (error) {
    return (error as Error).message;
  }
}
