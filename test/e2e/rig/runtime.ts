import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RuntimeServiceDefinition } from '../../gen/cri/v1/cri';
import { openChannel } from '../../../src/cri/client';
import { AttachedScript } from './attached-script';
import { Kubelet } from './kubelet';
import { projectRoot } from './project-root';
import type { Suite } from './require-runtime';

/** The message of scripts/runtime/run.mjs when the runtime is ready. */
export interface RuntimeFacts {
  readonly suite: Suite;
  readonly nri: boolean;
  /** Versions, by program or Debian package: `containerd` or `crio`, `runc`, … */
  readonly packages: Readonly<Record<string, string>>;
  /** Its name and version, and those of runc. */
  readonly label: string;
  readonly work: string;
  readonly criSocket: string;
  /** The CRI socket as programs in the runtime's mount namespace see it. */
  readonly criSocketInside: string;
  readonly nriSocket: string;
  /** A process in the runtime's mount namespace. */
  readonly namespacePid: number;
  /** The folder of pod logs, as the runtime and as the tests see it. */
  readonly podLogs: { readonly inRuntime: string; readonly onHost: string };
  /** The cgroup of all pods of this runtime, so that two runtimes share none. */
  readonly cgroupRoot: string;
  /** Default: cgroupfs. */
  readonly cgroupDriver?: 'cgroupfs' | 'systemd';
  /** The runtime has the other driver than its kubelet: it makes one directory of a unit's name. */
  readonly hasOtherDriver?: boolean;
  /** The name of a container's cgroup before the id, with the cgroupfs driver; default: none. */
  readonly cgroupPrefix?: string;
  /** True when StopPodSandbox gives containers until the deadline of the call to end by themselves. */
  readonly stopsPodsGracefully?: boolean;
  readonly runtimeLog: string;
  readonly image: string;
  readonly startedInMs: number;
}

export interface Runtime extends RuntimeFacts {
  readonly kubelet: Kubelet;
  /**
   * A kubelet on another socket, such as that of a CRI proxy in front of this runtime. `service`: another gRPC service
   * name for the same messages, such as that of kubelets before 1.26.
   */
  kubeletAt(criSocket: string, service?: string): Kubelet;
  /** Kills containerd or CRI-O (SIGKILL); containers go on. */
  kill(): Promise<void>;
  /**
   * Ends the runtime and all containers at once, as a power failure does, and removes their cgroups, mounts and files
   * in /run; its records and images are kept.
   */
  powerOff(): Promise<void>;
  /** Starts the runtime again on its state, and waits until it is ready for pods. */
  start(): Promise<void>;
  /** Ends containers, then the runtime. @throws when a process, cgroup, mount or folder is left */
  stop(): Promise<void>;
}

export interface RuntimeOptions {
  readonly suite: Suite;
  /** True when NRI plugins can connect. */
  readonly nri: boolean;
  /** The name of a required NRI plugin: without it no container is created. From containerd 2.2. */
  readonly requiredPlugin?: string;
  /** The driver of the kubelet, where the runtime has another one. */
  readonly kubeletDriver?: 'systemd';
  /** It runs in a network namespace of its own, so that pods can have a network. */
  readonly ownNetwork?: boolean;
  /** The command that runs the runtime, instead of `ownNetwork`: {@link inCgroup}. */
  readonly launcher?: readonly string[];
  /**
   * The parent of its folder. Folders of killed runs are removed from it. Its path is short, because of the sockets.
   */
  readonly parent?: string;
}

/** The events of run.mjs. */
interface RuntimeEvents {
  readonly ready: RuntimeFacts;
  readonly killed: object;
  readonly started: object;
  readonly off: object;
  readonly stopped: { readonly leftovers: readonly string[] };
}

/**
 * Starts a runtime for a test. Its parent process ends everything when this process ends, also after a crash.
 */
export async function startRuntime({
  suite,
  nri,
  requiredPlugin,
  kubeletDriver,
  ownNetwork = false,
  launcher = ownNetwork ? ['sh', join(projectRoot(), 'scripts/cluster/own-network.sh')] : [],
  parent = tmpdir(),
}: RuntimeOptions): Promise<Runtime> {
  const script = new AttachedScript<RuntimeEvents>({
    what: 'the runtime',
    script: 'scripts/runtime/run.mjs',
    args: [
      ...['--suite', suite, '--nri', nri ? 'on' : 'off'],
      ...(requiredPlugin === undefined ? [] : ['--required-plugin', requiredPlugin]),
    ],
    launcher,
    env: { TMPDIR: parent },
  });
  const facts: RuntimeFacts = {
    ...(await script.ready()),
    ...(kubeletDriver && { cgroupDriver: kubeletDriver, hasOtherDriver: true }),
  };
  const kubelets: Kubelet[] = [];
  const kubeletAt = (criSocket: string, service?: string) => {
    const kubelet = new Kubelet(criSocket, facts, service === undefined ? undefined : openChannel(criSocket, service));
    kubelets.push(kubelet);
    return kubelet;
  };

  const kubelet = kubeletAt(facts.criSocket);
  return {
    ...facts,
    kubelet,
    kubeletAt,
    kill: () => script.command('kill', 'killed'),
    powerOff: () => script.command('power-off', 'off'),
    async start() {
      await script.command('start', 'started');
      // A failed channel pauses before it connects again.
      await kubelet.channel.call(RuntimeServiceDefinition.methods.version, { version: 'v1' }, { waitForReady: true });
    },
    async stop() {
      for (const kubelet of kubelets) kubelet.close();
      const { leftovers } = await script.stop();
      if (leftovers.length > 0) throw new Error(`left behind by the runtime:\n  ${leftovers.join('\n  ')}`);
    },
  };
}
