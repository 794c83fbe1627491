import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { RuntimeServiceDefinition } from '../../gen/cri/v1/cri';
import { poll } from '../../support/wait-until';
import type { RuntimeFacts } from '../../e2e/rig/runtime';
import type { Machine } from '../machine';
import { openChannel } from '../../../src/cri/client';
import { Kubelet } from '../../e2e/rig/kubelet';
import { askEveryMs, guestPatienceMs, withPatience } from './patience';
import { replaceIn } from './replace-in';

const { methods } = RuntimeServiceDefinition;
const configFile = '/etc/containerd/config.toml';
const criSocket = '/run/containerd/containerd.sock';

/** The containerd of the machine. */
export class GuestRuntime {
  readonly kubelet: Kubelet;
  readonly nriSocket: string;
  readonly criSocket: string;
  private containerd: ChildProcess | undefined;

  constructor(readonly facts: RuntimeFacts) {
    ({ nriSocket: this.nriSocket, criSocket: this.criSocket } = facts);
    this.kubelet = this.kubeletAt(facts.criSocket);
  }

  /** A kubelet on this socket: that of the runtime, or that of a CRI proxy in front of it. */
  kubeletAt(socket: string): Kubelet {
    const channel = withPatience(openChannel(socket, RuntimeServiceDefinition.fullName));
    return new Kubelet(socket, this.facts, channel);
  }

  /** Starts containerd (again) and waits until it is ready for pods. */
  async start(): Promise<void> {
    const log = openSync(this.facts.runtimeLog, 'a');
    this.containerd = spawn('containerd', [], { stdio: ['ignore', log, log] });
    closeSync(log);
    const limitMs = 2 * guestPatienceMs;
    await poll('containerd takes pods', () => this.versionIfUp(), limitMs, askEveryMs).catch((error: unknown) => {
      throw new Error(`${(error as Error).message}; its log ends with ${this.lastWords(5)}`, { cause: error });
    });
  }

  /** Name and version of the runtime. */
  async version(): Promise<string> {
    const request = { version: 'v1' };
    const options = { waitForReady: false };
    const { runtimeName, runtimeVersion } = await this.kubelet.channel.call(methods.version, request, options);
    return `${runtimeName} ${runtimeVersion}`;
  }

  /** Kills containerd; containers go on. */
  async kill(): Promise<void> {
    this.containerd?.kill('SIGKILL');
    await once(this.containerd!, 'exit');
  }

  private async versionIfUp(): Promise<string | undefined> {
    if (this.containerd?.exitCode !== null) throw new Error(`containerd ended: ${this.lastWords(5)}`);
    if (!existsSync(this.criSocket)) return undefined; // a call would delay its start
    return this.version().catch(() => undefined);
  }

  /** The end of its log. */
  lastWords(lines: number): string {
    return readFileSync(this.facts.runtimeLog, 'utf8').trim().split('\n').slice(-lines).join('\n  ');
  }
}

/** Writes the settings of this machine into containerd's configuration, and starts it. */
export async function startGuestRuntime(
  machine: Machine,
  packages: Readonly<Record<string, string>>,
): Promise<GuestRuntime> {
  const config = readFileSync(configFile, 'utf8');
  const nri = machine.mode === 'nri';
  const settings = reportHugePages(setNri(config, nri));
  writeFileSync(configFile, settings + formatRuntimeConfig(machine, config.startsWith('version = 3')));
  const facts = {
    suite: machine.suite,
    nri,
    packages,
    work: '/tmp',
    criSocket,
    criSocketInside: criSocket,
    namespacePid: process.pid,
    nriSocket: '/run/nri/nri.sock',
    podLogs: { inRuntime: '/var/log/pods', onHost: '/var/log/pods' },
    cgroupRoot: '',
    cgroupDriver: machine.init === 'systemd' ? ('systemd' as const) : ('cgroupfs' as const),
    label: 'containerd of the machine',
    runtimeLog: '/tmp/containerd.log',
    image: 'localhost/busybox:1',
    startedInMs: 0,
  };
  const runtime = new GuestRuntime(facts);
  await runtime.start();
  return runtime;
}

/**
 * Switches NRI, with longer timeouts. containerd drops a plugin that does not answer within 2 s, which may happen under
 * emulation.
 */
function setNri(config: string, on: boolean): string {
  const section = "[plugins.'io.containerd.nri.v1.nri']\n";
  const times = "  plugin_registration_timeout = '30s'\n  plugin_request_timeout = '30s'\n";
  const timed = replaceIn(config, section, section + times);
  return replaceIn(timed, 'disable = false\n  socket_path', `disable = ${!on}\n  socket_path`);
}

/** By default containerd drops the limits of huge pages from what it tells plugins and the kernel. */
function reportHugePages(config: string): string {
  const neighbour = '  restrict_oom_score_adj = true\n';
  return replaceIn(config, neighbour, `${neighbour}  disable_hugetlb_controller = false\n`);
}

function formatRuntimeConfig({ runtime, init }: Machine, isVersion3: boolean): string {
  const cri = isVersion3 ? 'io.containerd.cri.v1.runtime' : 'io.containerd.grpc.v1.cri';
  return `
[plugins.'${cri}'.containerd.runtimes.runc]
  runtime_type = 'io.containerd.runc.v2'
[plugins.'${cri}'.containerd.runtimes.runc.options]
  BinaryName = '${runtime}'
  SystemdCgroup = ${init === 'systemd'}
${patientTimeouts}`;
}

/** Longer timeouts for shims: at its start containerd drops containers whose shims do not answer within 5 and 2 s. */
const patientTimeouts = `[timeouts]
  'io.containerd.timeout.shim.load' = '60s'
  'io.containerd.timeout.task.state' = '60s'
`;
