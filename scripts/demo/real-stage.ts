import {
  cpusetDirOf,
  type Daemon,
  onlineCpus,
  printMaskThenSleep,
  type RunningContainer,
  type RunningPod,
  startDaemon,
  startRuntime,
} from '../../test/e2e/rig';
import { endDaemon, listThere, watchDaemon } from './cpusetd';
import type { Actor, Stage } from './stage';

/** Prints the cpuset of the other container before anything else, and then its own mask. */
const printNeighbourThenMask = [
  'sh',
  '-c',
  `read -r cpus < /neighbour/cpuset.cpus; echo "$cpus"; ${printMaskThenSleep.at(-1)!}`,
];

/** The words of the stage with processes that a kernel confines. */
export const REAL_WORDS: Stage['words'] = {
  cpuset: 'cpuset.cpus',
  own: 'its first process printed Cpus_allowed_list',
  neighbour: (name) => `its first process, before anything else, read cpuset.cpus of ${name}`,
};

/** A separate containerd from Debian's packages, with folders, sockets and cgroups of its own. */
export async function openRealStage(): Promise<Stage> {
  const runtime = await startRuntime({ suite: 'trixie', nri: true });
  const pods = new Map<string, RunningPod>();
  const { containerd, runc } = runtime.packages;
  let daemon: Daemon | undefined;
  return {
    what: `containerd ${containerd ?? '?'} and runc ${runc ?? '?'}, real cgroups, a private folder that is removed at the end`,
    machine: onlineCpus,
    words: REAL_WORDS,
    startDaemon(reserved) {
      const args = ['--reserved-cpus', reserved, '--reconcile-period', '2s'];
      daemon = startDaemon({ runtime, args });
      return watchDaemon(daemon);
    },
    async run(name, cpus, beside) {
      const size = cpus === 0 ? { cpuRequestMilli: 100 } : { cpus };
      const mounts = beside && [{ hostPath: beside.folder, containerPath: '/neighbour' }];
      const command = beside ? printNeighbourThenMask : printMaskThenSleep;
      const pod = await runtime.kubelet.runPod({
        name,
        containers: [{ name, ...size, command, ...(mounts && { mounts }) }],
      });
      pods.set(name, pod);
      return actorOf(await pod.startContainer(name), beside !== undefined);
    },
    async remove(name) {
      await pods.get(name)?.remove();
    },
    async close() {
      const left = await endDaemon(daemon);
      const mess = await runtime.stop().then(
        () => [],
        (error: unknown) => [(error as Error).message],
      );
      return [...left, ...mess, ...listThere(runtime.work)];
    },
  };
}

function actorOf(container: RunningContainer, hasNeighbour: boolean): Actor {
  return {
    folder: cpusetDirOf(container.cgroupPath),
    async beginning() {
      const printed = await container.firstLines(hasNeighbour ? 2 : 1);
      return hasNeighbour ? { neighbour: printed[0]!, own: printed[1]! } : { own: printed[0]! };
    },
    cpuset: () => container.cpuset().cpus,
    tamper: (cpus) => container.writeCpuset(cpus),
  };
}
