import { readFileSync } from 'node:fs';
import { printMaskThenSleep, type RunningContainer, type RunningPod, startRuntime } from '../../test/e2e/rig';
import type { Actor, Stage } from './stage';

/** A private containerd from Debian's packages, with folders, sockets and cgroups of its own. */
export async function openRealStage(): Promise<Stage> {
  const runtime = await startRuntime({ suite: 'trixie', nri: true });
  const pods = new Map<string, RunningPod>();
  const { containerd, runc } = runtime.packages;
  return {
    what: `containerd ${containerd ?? '?'} and runc ${runc ?? '?'}, real cgroups, a private folder that is removed at the end`,
    machine: readFileSync('/sys/devices/system/cpu/online', 'utf8').trim(),
    daemonArgs: ['--nri-socket', runtime.nriSocket, '--cri-endpoint', runtime.criSocket],
    async run(name, cpus) {
      const size = cpus === 0 ? { cpuRequestMilli: 100 } : { cpus };
      const pod = await runtime.kubelet.runPod({ name, containers: [{ name, ...size, command: printMaskThenSleep }] });
      pods.set(name, pod);
      return actorOf(await pod.startContainer(name));
    },
    async remove(name) {
      await pods.get(name)?.remove();
    },
    close: () => runtime.stop(),
  };
}

function actorOf(container: RunningContainer): Actor {
  return {
    firstWords: () => container.firstLine(),
    cpusOfKernel: () => container.cpuset().cpus,
    tamper: (cpus) => container.writeCpuset(cpus),
  };
}
