import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { RuntimeServiceDefinition } from '../../../gen/cri/v1/cri';
import { openChannel } from '../../../src/cri/client';
import { Kubelet } from './kubelet';
import { LineLog } from './line-log';
import { projectRoot } from './project-root';
import { runtimeScripts, type Suite } from './require-runtime';

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
   * A kubelet on another socket, such as that of a CRI proxy in front of this runtime. `service`: another gRPC service name for the same
   * messages, such as that of kubelets before 1.26.
   */
  kubeletAt(criSocket: string, service?: string): Kubelet;
  /** Kills containerd or CRI-O (SIGKILL); containers go on. */
  kill(): Promise<void>;
  /**
   * Ends the runtime and all containers at once, as a power failure does, and removes their cgroups, mounts and files in /run; its records and
   * images are kept.
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
  /** It runs in a network namespace of its own, so that pods can have a network. */
  readonly ownNetwork?: boolean;
  /** The parent of its folder. Folders of killed runs are removed from it. Its path is short, because of the sockets. */
  readonly parent?: string;
}

/** The events of run.mjs, one JSON line each. */
type RuntimeEvent =
  | ({ readonly event: 'ready' } & RuntimeFacts)
  | { readonly event: 'killed' | 'started' | 'off' }
  | { readonly event: 'stopped'; readonly leftovers: readonly string[] }
  | { readonly event: 'failed'; readonly reason: string };

const startDeadlineMs = 180_000;

/**
 * Starts a runtime for a test. Its parent process ends everything when this process ends, also after a crash.
 */
export async function startRuntime({
  suite,
  nri,
  requiredPlugin,
  ownNetwork = false,
  parent = tmpdir(),
}: RuntimeOptions): Promise<Runtime> {
  const args = [join(runtimeScripts, 'run.mjs'), '--attached', '--suite', suite, '--nri', nri ? 'on' : 'off'];
  if (requiredPlugin !== undefined) args.push('--required-plugin', requiredPlugin);
  const network = join(projectRoot(), 'scripts/cluster/own-network.sh');
  const [program, programArgs] = ownNetwork
    ? ['sh', [network, process.execPath, ...args]]
    : ([process.execPath, args] as const);
  const child = spawn(program, programArgs, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, TMPDIR: parent },
  });
  const events = new LineLog<RuntimeEvent>();
  createInterface({ input: child.stdout }).on('line', (line) => events.push(JSON.parse(line) as RuntimeEvent));
  const closed = once(child, 'close').then(() => events.end('the runtime has ended'));

  const expectEvent = async <Name extends RuntimeEvent['event']>(name: Name, from: number) => {
    const isAnswer = ({ event }: RuntimeEvent) => event === name || event === 'failed';
    const got = await events.waitFor(`runtime ${name}`, isAnswer, { deadlineMs: startDeadlineMs, from });
    if (got.event === 'failed') throw new Error(`the runtime failed: ${got.reason}`);
    return got as Extract<RuntimeEvent, { event: Name }>;
  };
  const command = async (line: string, answer: 'killed' | 'started' | 'off') => {
    const from = events.lines.length;
    child.stdin.write(`${line}\n`);
    await expectEvent(answer, from);
  };

  const facts = await expectEvent('ready', 0);
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
    kill: () => command('kill', 'killed'),
    powerOff: () => command('power-off', 'off'),
    async start() {
      await command('start', 'started');
      // A failed channel pauses before it connects again.
      await kubelet.channel.call(RuntimeServiceDefinition.methods.version, { version: 'v1' }, { waitForReady: true });
    },
    async stop() {
      for (const kubelet of kubelets) kubelet.close();
      child.stdin.end();
      await closed;
      const last = events.lines.at(-1);
      if (last?.event !== 'stopped') throw new Error(`the runtime did not end in order: ${JSON.stringify(last)}`);
      if (last.leftovers.length > 0) throw new Error(`left behind by the runtime:\n  ${last.leftovers.join('\n  ')}`);
    },
  };
}
