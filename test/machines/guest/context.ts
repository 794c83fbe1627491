import { type AdminClient, connectAdmin } from '../../../src/admin/client/admin-client';
import type { ContainerStatus, Status, Verdict } from '../../../src/admin/model/status';
import { CpusetdError } from '../../../src/core/errors';
import type { Topology } from '../../../src/core/topology';
import type { VerdictKind } from '../../../src/core/verdict/judge';
import { readTopology } from '../../../src/host';
import type { RunningContainer } from '../../e2e/rig/container';
import { Daemon, type LogLine } from '../../e2e/rig/daemon';
import { poll } from '../../support/wait-until';
import type { ContainerSpec, Kubelet, PodSpec } from '../../e2e/rig/kubelet';
import type { RunningPod } from '../../e2e/rig/pod';
import type { Machine } from '../machine';
import type { GuestRuntime } from './guest-runtime';
import { askEveryMs, guestPatienceMs } from './patience';

const bundle = '/in/cpusetd.js';

/** A cpusetd that can be asked: one that the context started, or another. */
type Served = Pick<Daemon, 'adminSocket'>;

/** The cpusetd that several claims use one after the other. */
export class UsualDaemon {
  daemon: Daemon | undefined;

  async end(): Promise<void> {
    const { daemon } = this;
    this.daemon = undefined;
    await daemon?.dispose();
  }
}

/** The means of one run of a claim. At its end, all that it started is ended. */
export class GuestContext {
  readonly saw: string[] = [];
  private readonly pods: RunningPod[] = [];
  private readonly daemons: Daemon[] = [];
  private readonly clients = new Map<Served, AdminClient>();
  private kubelet: Kubelet | undefined;

  constructor(
    readonly machine: Machine,
    readonly runtime: GuestRuntime,
    private readonly usual: UsualDaemon,
  ) {}

  /** The machine as it is this moment, read by the reader under test. */
  get topology(): Topology {
    return readTopology({ sysfsRoot: '/sys' });
  }

  /** Prints the progress of the claim on the console. */
  step(text: string): void {
    console.log(`    [${Math.round(performance.now())}] ${text}`);
  }

  /** Puts a fact into the table. */
  note(fact: string): void {
    this.saw.push(fact);
  }

  /**
   * A cpusetd with usual options: CPU 0 reserved, a round every second. It is started once for all claims that can use
   * it, since under emulation a start takes seconds. Its log has lines of earlier claims: see Daemon.mark.
   */
  async usualDaemon(): Promise<Daemon> {
    this.usual.daemon ??= await this.start('--reconcile-period', '1s');
    this.connectKubelet(this.usual.daemon);
    return this.usual.daemon;
  }

  /**
   * Starts a cpusetd for this claim and waits until it is synchronized. CPU 0 is reserved unless the arguments say
   * otherwise.
   */
  async startDaemon(...args: string[]): Promise<Daemon> {
    await this.endUsualDaemon(); // there is only one on a node
    const daemon = await this.start(...args);
    this.daemons.push(daemon);
    this.connectKubelet(daemon);
    return daemon;
  }

  /** For a claim that starts cpusetd by other means. */
  endUsualDaemon(): Promise<void> {
    return this.usual.end();
  }

  private async start(...args: string[]): Promise<Daemon> {
    const reserved = args.some((arg) => arg.startsWith('--reserved-cpu')) ? [] : ['--reserved-cpus', '0'];
    const mode = this.machine.mode === 'nri' ? [] : ['--mode', this.machine.mode];
    const daemon = new Daemon({ runtime: this.runtime, args: [...mode, ...reserved, ...args], bundle });
    daemon.start();
    await Promise.all([this.synchronized(daemon), this.waitForLog(daemon, 'started')]);
    this.step('cpusetd started');
    return daemon;
  }

  /** In mode cri-proxy, pods are made through this cpusetd from now on. */
  private connectKubelet(daemon: Daemon): void {
    if (this.machine.mode === 'cri-proxy') this.kubelet ??= this.runtime.kubeletAt(daemon.criListen);
  }

  /** Waits until the daemon is (again) synchronized with the runtime. @param from see Daemon.mark */
  synchronized(daemon: Daemon, from = 0): Promise<LogLine> {
    return this.waitForLog(daemon, 'synchronized with the runtime', from);
  }

  waitForLog(daemon: Daemon, accepts: string | ((line: LogLine) => boolean), from = 0): Promise<LogLine> {
    return daemon.waitForLog(accepts, { from, deadlineMs: guestPatienceMs });
  }

  /** Starts a pod with one container. */
  async startOne(spec: ContainerSpec, pod: Partial<PodSpec> = {}): Promise<RunningContainer> {
    return this.startIn(await this.runPod({ ...pod, containers: [spec] }), spec);
  }

  /** The same while cpusetd is away: in mode cri-proxy the runtime is reached past it. */
  async startOneUnseen(spec: ContainerSpec): Promise<RunningContainer> {
    return this.startIn(await this.runPodBy(this.runtime.kubelet, { containers: [spec] }), spec);
  }

  /**
   * Runs a pod through another socket than that of the runtime. It is removed past that socket, which may have gone by
   * then.
   */
  async runPodThrough(kubelet: Kubelet, spec: PodSpec): Promise<RunningPod> {
    const pod = await kubelet.runPod(spec);
    this.pods.push(pod.through(this.runtime.kubelet));
    this.stepOfPod(spec);
    return pod;
  }

  /** Ends the pods of the claim before its end. */
  async removePods(): Promise<void> {
    await Promise.all(this.pods.splice(0).map((pod) => pod.remove()));
  }

  runPod(spec: PodSpec): Promise<RunningPod> {
    return this.runPodBy(this.kubelet ?? this.runtime.kubelet, spec);
  }

  private async startIn(pod: RunningPod, { name }: ContainerSpec): Promise<RunningContainer> {
    const container = await pod.startContainer(name);
    this.step(`container ${name} started`);
    return container;
  }

  private async runPodBy(kubelet: Kubelet, spec: PodSpec): Promise<RunningPod> {
    const pod = await kubelet.runPod(spec);
    this.pods.push(pod);
    this.stepOfPod(spec);
    return pod;
  }

  private stepOfPod({ containers }: PodSpec): void {
    this.step(`pod for ${containers.map(({ name }) => name).join(', ')}`);
  }

  /**
   * The status of the daemon, over its admin socket. Unlike the rig's `readStatus` it starts no process, which would
   * take seconds.
   */
  async statusOf(daemon: Served): Promise<Status> {
    return poll('an answer to status', () => this.ask(daemon), guestPatienceMs, askEveryMs);
  }

  /** Uses one connection for all calls, since a new one each time would take seconds under emulation. */
  private async ask(daemon: Served): Promise<Status | undefined> {
    try {
      const client = this.clients.get(daemon) ?? (await connectAdmin(daemon.adminSocket));
      this.clients.set(daemon, client);
      return await client.status();
    } catch (error) {
      // The emulated machine is slow, or the daemon was killed and started again.
      if (!(error instanceof CpusetdError && ['DEADLINE_EXCEEDED', 'UNAVAILABLE'].includes(error.code))) throw error;
      this.forgetClient(daemon);
      return undefined;
    }
  }

  private forgetClient(daemon: Served): void {
    this.clients.get(daemon)?.close();
    this.clients.delete(daemon);
  }

  /** The status of one container. */
  async shown(daemon: Served, { id, name }: RunningContainer): Promise<ContainerStatus> {
    const found = (await this.statusOf(daemon)).containers.find((container) => container.id === id);
    if (found === undefined) throw new Error(`status does not name container ${name}`);
    return found;
  }

  /**
   * Waits for a verdict on a container, and for its reason if one is given. The kernel's own changes come in steps, and
   * each step has a verdict.
   * @returns the reason given with it, and how long it took
   */
  async untilVerdict(
    daemon: Served,
    container: RunningContainer,
    kind: VerdictKind,
    reason = /^/,
  ): Promise<{ readonly reason: string; readonly ms: number }> {
    let last: Verdict | undefined;
    try {
      const holds = async () => {
        last = (await this.shown(daemon, container)).verdict;
        return last.kind === kind && reason.test(last.reason);
      };
      const ms = await this.untilAsked(`verdict ${kind}`, holds);
      return { reason: last!.reason, ms };
    } catch (error) {
      throw new Error(`${(error as Error).message}; the verdict is ${last?.kind}: ${last?.reason}`, { cause: error });
    }
  }

  /** Waits until each of these containers has the verdict kept. One question is for all of them. */
  untilAllKept(daemon: Served, containers: readonly RunningContainer[]): Promise<number> {
    return this.untilAsked('verdict kept on all', async () => {
      const { containers: shown } = await this.statusOf(daemon);
      const isKept = ({ id }: RunningContainer) =>
        shown.some((container) => container.id === id && container.verdict.kind === 'kept');
      return containers.every(isKept);
    });
  }

  /** The allowed CPUs of every process in the container's cgroup, as the kernel says, each value once. */
  masksOf(container: RunningContainer): string[] {
    return container.pids().length === 0 ? [] : [...new Set(container.masks())];
  }

  /**
   * Waits until a container is on exactly these CPUs by the kernel: by its cpuset, its effective cpuset, and the masks
   * of its processes, which follow one after the other. @returns the time that it took, in ms
   */
  async untilOn(container: RunningContainer, cpus: string): Promise<number> {
    let last: readonly string[] = [];
    const isThere = () => {
      const { cpus: own, effectiveCpus } = container.cpuset();
      const masks = this.masksOf(container);
      last = [own, effectiveCpus, ...masks];
      return masks.length > 0 && last.every((list) => list === cpus);
    };
    try {
      return await this.until(`${container.name} to be on ${cpus}`, isThere);
    } catch (error) {
      const message = `${(error as Error).message}; cpuset, effective and masks are ${last.join(' | ')}`;
      throw new Error(message, { cause: error });
    }
  }

  /** Waits for a state that no event announces, such as the content of a file. @returns the time that it took, in ms */
  until(what: string, holds: () => boolean): Promise<number> {
    return this.waitUntil(what, holds, 10);
  }

  /** The same for conditions that need a call or a process. */
  untilAsked(what: string, holds: () => Promise<boolean>): Promise<number> {
    return this.waitUntil(what, holds, askEveryMs);
  }

  private async waitUntil(what: string, holds: () => boolean | Promise<boolean>, everyMs: number): Promise<number> {
    const start = performance.now();
    await poll(what, async () => ((await holds()) ? true : undefined), guestPatienceMs, everyMs);
    return Math.round(performance.now() - start);
  }

  /** Ends the pods and daemons of the claim. @throws when something does not end */
  async end(): Promise<void> {
    this.step('tidying up');
    for (const daemon of [...this.clients.keys()]) if (daemon !== this.usual.daemon) this.forgetClient(daemon);
    const pods = await Promise.allSettled(this.pods.map((pod) => pod.remove()));
    this.kubelet?.close();
    const daemons = await Promise.allSettled(this.daemons.map((daemon) => daemon.dispose()));
    for (const result of [...pods, ...daemons]) if (result.status === 'rejected') throw result.reason as Error;
    await this.untilForgotten();
  }

  /**
   * Waits until the usual daemon has no pods of this claim. The runtime does not report the end of pods that are older
   * than itself.
   */
  private async untilForgotten(): Promise<void> {
    const { daemon } = this.usual;
    if (daemon === undefined || daemon.outcome !== undefined || this.pods.length === 0) return;
    const uids = new Set(this.pods.map(({ uid }) => uid));
    try {
      await this.untilAsked('cpusetd to have forgotten the pods', async () => {
        const { containers, idle } = await this.statusOf(daemon);
        return ![...containers, ...idle].some(({ podUid }) => uids.has(podUid));
      });
    } finally {
      this.forgetClient(daemon);
    }
  }

  /** Every daemon's log, for a claim that did not hold. */
  logs(): string[] {
    const daemons = this.usual.daemon === undefined ? this.daemons : [...this.daemons, this.usual.daemon];
    return daemons.flatMap(({ log }) => log.lines.slice(-200).map((line) => JSON.stringify(line)));
  }
}
