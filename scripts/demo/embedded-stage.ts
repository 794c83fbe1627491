import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Container, PodSandbox } from '../../gen/nri/v1alpha1/nri';
import { type Daemon, onlineCpus, startDaemon } from '../../test/e2e/rig';
import { projectRoot } from '../../test/e2e/rig/project-root';
import { NriRuntime } from '../../test/support/nri-runtime';
import { type SysfsTree, writeTree } from '../../test/support/sysfs-tree';
import { endDaemon, listThere, type ReachableDaemon, watchDaemon } from './cpusetd';
import type { Beginning, Stage } from './stage';

export interface EmbeddedStageOptions {
  /** The machine of the story; absent: this one. */
  readonly machine?: SysfsTree;
  /** Options of `cpusetd run` besides those of the stage. */
  readonly daemonArgs?: readonly string[];
  /** Another build of the daemon than dist/cpusetd.js. */
  readonly bundle?: string;
  /** Options of the daemon's Node, such as `--inspect`. */
  readonly nodeOptions?: readonly string[];
}

/** A stage whose daemon can be asked by its commands. */
export interface EmbeddedStage extends Stage {
  startDaemon(reserved: string): ReachableDaemon;
}

/**
 * A runtime in this process that speaks the real NRI wire protocol over a real unix socket, for machines where no
 * containerd can be had. Its cgroups are plain files in a folder, laid out as on cgroup v2; its containers are entries
 * in a table without processes. It observes only its own table and these files.
 */
export async function openEmbeddedStage(options: EmbeddedStageOptions = {}): Promise<EmbeddedStage> {
  const { machine, daemonArgs = [], nodeOptions = [], bundle } = options;
  const folder = mkdtempSync(join(tmpdir(), 'cpusetd-demo-'));
  if (machine) writeTree(folder, machine);
  const online = machine?.['/sys/devices/system/cpu/online']?.trim() ?? onlineCpus;
  const cgroupRoot = join(folder, 'cgroup');
  makeCgroup(cgroupRoot, online);
  writeFileSync(join(cgroupRoot, 'cgroup.controllers'), 'cpuset cpu\n');
  const socketPath = join(folder, 'nri.sock');
  const runtime = await NriRuntime.listen({ socketPath, onlineCpus: online });
  const pods = new Map<string, { pod: PodSandbox; container: Container; folder: string }>();
  let daemon: Daemon | undefined;
  return {
    what: 'an embedded runtime: real NRI messages over a real socket; no containers, and plain files as cgroups',
    machine: online,
    words: {
      cpuset: 'the file cpuset.cpus',
      own: 'the runtime was to start it with cpuset',
      neighbour: (name) => `when the runtime was to start it, the file cpuset.cpus of ${name}`,
    },
    startDaemon(reserved) {
      const sockets = ['--nri-socket', socketPath, '--cri-endpoint', 'off', '--cgroup-root', cgroupRoot];
      const sysfs = machine ? ['--sysfs-root', join(folder, 'sys')] : [];
      // The rig adds these for its own build alone.
      const folders = ['lock-dir', 'cpu-identity-dir'].flatMap((name) => [`--${name}`, join(folder, name)]);
      const plainFiles = join(projectRoot(), 'scripts/demo/plain-file-cgroups.cjs');
      daemon = startDaemon({
        ...(bundle !== undefined && { bundle }),
        args: [
          ...sockets,
          ...folders,
          ...sysfs,
          '--reserved-cpus',
          reserved,
          '--reconcile-period',
          '2s',
          ...daemonArgs,
        ],
        env: { NODE_OPTIONS: ['--require', JSON.stringify(plainFiles), ...nodeOptions].join(' ') },
      });
      return watchDaemon(daemon);
    },
    async run(name, cpus, beside) {
      const pod = await runtime.runPod({ name, qos: cpus === 0 ? 'burstable' : 'guaranteed' });
      const milliCpu = cpus === 0 ? 100 : Math.round(cpus * 1000);
      const spec = { name, milliCpu, memoryBytes: 1 << 26 };
      const container = await runtime.createContainer(pod, spec).catch(async (error: unknown) => {
        await runtime.removePod(pod); // A pod that was refused does not stay.
        throw error;
      });
      const cgroup = join(cgroupRoot, container.linux?.cgroupsPath ?? '');
      // A cgroup without a cpuset of its own has that of its parent: here, all CPUs.
      makeCgroup(cgroup, runtime.cpusOf(container) || online);
      for (const each of [dirname(cgroup), cgroup]) writeFileSync(join(each, 'cpu.max'), 'max 100000\n');
      let beginning: Beginning | undefined;
      const begin = (): void => {
        beginning = { own: readCpuset(cgroup), ...(beside && { neighbour: readCpuset(beside.folder) }) };
      };
      await runtime.startContainer(container, begin);
      pods.set(name, { pod, container, folder: cgroup });
      return {
        folder: cgroup,
        beginning: () => Promise.resolve(beginning!),
        cpuset: () => readCpuset(cgroup),
        tamper: (list) => overwriteCpuset(cgroup, list),
      };
    },
    async remove(name) {
      const known = pods.get(name);
      if (!known) return;
      rmSync(known.folder, { recursive: true });
      await runtime.removePod(known.pod);
    },
    async close() {
      const left = await endDaemon(daemon);
      await runtime.close();
      rmSync(folder, { recursive: true, force: true });
      return [...left, ...listThere(folder)];
    },
  };
}

function makeCgroup(folder: string, cpus: string): void {
  mkdirSync(folder, { recursive: true });
  for (const file of ['cpuset.cpus', 'cpuset.cpus.effective']) writeFileSync(join(folder, file), `${cpus}\n`);
  for (const file of ['cpuset.mems', 'cpuset.mems.effective']) writeFileSync(join(folder, file), '0\n');
}

const readCpuset = (folder: string): string => readFileSync(join(folder, 'cpuset.cpus'), 'utf8').trim();

/** Overwrites the cpuset in one write, as in the kernel: no reader ever finds it empty. */
function overwriteCpuset(folder: string, cpus: string): void {
  const path = join(folder, 'cpuset.cpus');
  const text = `${cpus}\n`.padEnd(readFileSync(path).length, '\n');
  writeFileSync(path, text, { flag: 'r+' });
}
