import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Container, PodSandbox } from '../../gen/nri/v1alpha1/nri';
import { projectRoot } from '../../test/e2e/rig/project-root';
import { NriRuntime } from '../../test/support/nri-runtime';
import type { Actor, Stage } from './stage';

/**
 * A runtime in this process that speaks the real NRI wire protocol over a real unix socket, for machines where no
 * containerd can be had. Its cgroups are plain files in a folder, laid out as on cgroup v2; its containers are entries
 * in a table, so a first process can only say what its cgroup would allow.
 */
export async function openEmbeddedStage(): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'cpusetd-demo-'));
  const machine = readFileSync('/sys/devices/system/cpu/online', 'utf8').trim();
  const cgroupRoot = join(folder, 'cgroup');
  makeCgroup(cgroupRoot, machine);
  writeFileSync(join(cgroupRoot, 'cgroup.controllers'), 'cpuset cpu\n');
  const socketPath = join(folder, 'nri.sock');
  const runtime = await NriRuntime.listen({ socketPath, onlineCpus: machine });
  const pods = new Map<string, { pod: PodSandbox; container: Container; folder: string }>();
  return {
    what: 'an embedded runtime: real NRI messages over a real socket, no real containers',
    machine,
    daemonArgs: ['--nri-socket', socketPath, '--cri-endpoint', 'off', '--cgroup-root', cgroupRoot],
    daemonEnv: {
      NODE_OPTIONS: `--require ${JSON.stringify(join(projectRoot(), 'scripts/demo/plain-file-cgroups.cjs'))}`,
    },
    async run(name, cpus) {
      const pod = await runtime.runPod({ name, qos: cpus === 0 ? 'burstable' : 'guaranteed' });
      const milliCpu = cpus === 0 ? 100 : cpus * 1000;
      const container = await runtime.createContainer(pod, { name, milliCpu, memoryBytes: 1 << 26 });
      const cgroup = join(cgroupRoot, container.linux?.cgroupsPath ?? '');
      makeCgroup(cgroup, runtime.cpusOf(container) || machine);
      await runtime.startContainer(container);
      const first = readFileSync(join(cgroup, 'cpuset.cpus'), 'utf8').trim();
      pods.set(name, { pod, container, folder: cgroup });
      return actorOf(cgroup, first);
    },
    async remove(name) {
      const known = pods.get(name);
      if (!known) return;
      rmSync(known.folder, { recursive: true });
      await runtime.removePod(known.pod);
    },
    async close() {
      await runtime.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function makeCgroup(folder: string, cpus: string): void {
  mkdirSync(folder, { recursive: true });
  for (const file of ['cpuset.cpus', 'cpuset.cpus.effective']) writeFileSync(join(folder, file), `${cpus}\n`);
  for (const file of ['cpuset.mems', 'cpuset.mems.effective']) writeFileSync(join(folder, file), '0\n');
}

function actorOf(folder: string, first: string): Actor {
  const file = join(folder, 'cpuset.cpus');
  return {
    firstWords: () => Promise.resolve(first),
    cpusOfKernel: () => readFileSync(file, 'utf8').trim(),
    tamper: (cpus) => writeFileSync(file, `${cpus}\n`),
  };
}
