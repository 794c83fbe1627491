import { existsSync, mkdirSync, mkdtempSync, openSync, rmSync, symlinkSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Container, PodSandbox } from '../../../gen/nri/v1alpha1/nri';
import { type Daemon, startDaemon } from '../../e2e/rig';
import { findFreePort } from '../../support/free-port';
import { ROOT } from '../../docs/markdown';
import { nodeQosOf, ruleOf } from '../../kube/qos/objects';
import { makeDaemonHost, rigArguments } from '../../support/daemon-paths';
import { FakeApiServer } from '../../support/kube/api-server';
import { readRights, readRightsOf } from '../../support/kube/rbac';
import { NriRuntime } from '../../support/nri-runtime';

export interface NodeOptions {
  /** A machine of test/fixtures/sysfs. */
  readonly machine: string;
  readonly cpus: number;
  /** The part of each CPU's time that is used. */
  readonly busy: number;
  /** With all options that have series of their own, and an API server. */
  readonly full: boolean;
}

const RULES = '/apis/ensurance.crane.io/v1alpha1';

/**
 * The built daemon with its metrics, on a machine of files: sysfs, cgroups and /proc/stat, in which time passes. The
 * runtime and the API server are fakes on real sockets. Nothing else of the daemon is replaced.
 */
export class ScrapedNode {
  private readonly folder = mkdtempSync(join(tmpdir(), 'scraped-'));
  private readonly api = new FakeApiServer({
    rights: new Set([...readRights({ withOptional: true }), ...readRightsOf('components/qos/rbac.yaml')]),
  });
  private readonly startedAt = Date.now();
  private readonly containers = new Map<string, { readonly pod: PodSandbox; readonly container: Container }>();
  private runtime: NriRuntime | undefined;
  private daemon: Daemon | undefined;
  private clock: NodeJS.Timeout | undefined;
  port = 0;

  constructor(private readonly options: NodeOptions) {}

  async start(): Promise<void> {
    const { machine, full, cpus } = this.options;
    const folder = this.folder;
    makeDaemonHost(folder, machine);
    this.passTime();
    this.port = await findFreePort();
    await this.startRuntime();
    if (full) await this.startApiServer();
    const more = {
      'collect-interval': '1s',
      'container-metrics': 'on',
      kubeconfig: join(folder, 'kubeconfig'),
      'node-name': 'n1',
      'node-resource': 'cpu',
      'node-resource-reserved': 'cpu=10%,memory=10%',
      'node-resource-prediction': 'off',
      'node-resource-exclusive-idle': 'on',
    };
    const args = rigArguments(folder, {
      'cri-endpoint': 'off',
      'metrics-address': `127.0.0.1:${this.port}`,
      'nri-socket': join(folder, 'nri.sock'),
      'reserved-cpus': `0,${cpus / 2}`,
      'reconcile-period': '500ms',
      ...(full && more),
    });
    const plainFiles = join(ROOT, 'scripts/demo/plain-file-cgroups.cjs');
    const mount = 'stat=$0; mount --bind "$stat" /proc/stat && exec "$@"';
    this.daemon = startDaemon({
      args,
      env: { NODE_OPTIONS: `--require ${JSON.stringify(plainFiles)}` },
      launcher: ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', mount, join(folder, 'stat')],
    });
    await this.daemon.ready();
  }

  /** The address by which Prometheus knows it. */
  get instance(): string {
    return `127.0.0.1:${this.port}`;
  }

  /**
   * Runs a pod of one container: `cpus` of its own, or in the shared pool with 0. Resolves with its cpuset; rejects
   * with the refusal.
   */
  async run(name: string, cpus: number): Promise<string> {
    const runtime = this.runtime!;
    const pod = await runtime.runPod({ name, qos: cpus === 0 ? 'burstable' : 'guaranteed' });
    const milliCpu = cpus === 0 ? 100 : cpus * 1000;
    try {
      const container = await runtime.createContainer(pod, { name: 'main', milliCpu, memoryBytes: 1 << 26 });
      this.makeCgroup(container, runtime.cpusOf(container));
      await runtime.startContainer(container);
      this.containers.set(name, { pod, container });
      return runtime.cpusOf(container);
    } catch (error) {
      await runtime.removePod(pod);
      throw error;
    }
  }

  async remove(name: string): Promise<void> {
    const { pod, container } = this.containers.get(name)!;
    this.containers.delete(name);
    rmSync(this.cgroupOf(container), { recursive: true });
    await this.runtime!.removePod(pod);
  }

  /** Writes the cpuset of a container, past cpusetd. */
  tamper(name: string, cpus: string): void {
    writeFileSync(join(this.cgroupOf(this.containers.get(name)!.container), 'cpuset.cpus'), `${cpus}\n`);
  }

  /** The runtime ends, as for an update. Its containers run on. */
  async stopRuntime(): Promise<void> {
    await this.runtime!.close();
  }

  /**
   * The runtime is there again, with its containers. `name`: a container that it starts before cpusetd is connected.
   */
  async startRuntime(name?: string): Promise<void> {
    const before = this.runtime;
    if (name !== undefined) await this.run(name, 1);
    const runtime = await NriRuntime.listen({ socketPath: join(this.folder, 'nri.sock') });
    if (before) runtime.adopt(before);
    this.runtime = runtime;
    if (this.daemon) await runtime.plugin();
    // Now it has a cpuset of its own: the kernel makes that the effective one.
    if (name !== undefined) followOwn(this.cgroupOf(this.containers.get(name)!.container));
  }

  /** Ends everything, and removes it. */
  async close(): Promise<void> {
    clearInterval(this.clock);
    await this.daemon?.dispose();
    await this.runtime?.close().catch(() => undefined);
    await this.api.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async startApiServer(): Promise<void> {
    const { cpus } = this.options;
    const api = this.api;
    await api.start();
    writeFileSync(join(this.folder, 'kubeconfig'), api.kubeconfig);
    const amounts = { cpu: String(cpus), memory: '64Gi' };
    api.put('/api/v1/nodes', {
      metadata: { name: 'n1', uid: 'node' },
      spec: {},
      status: { capacity: amounts, allocatable: amounts },
    });
    // Both rules are above their thresholds from the first reading on.
    const rules = ['throttle', 'disable-scheduling'].map((actionName) =>
      ruleOf({ name: `busy-${actionName}`, actionName, avoidanceThreshold: 1 }, { value: 1 }),
    );
    api.put(`${RULES}/nodeqoss`, nodeQosOf({ rules }));
    api.put(`${RULES}/avoidanceactions`, {
      metadata: { name: 'throttle' },
      spec: { throttle: { cpuThrottle: { minCPURatio: 10, stepCPURatio: 10 } } },
    });
    api.put(`${RULES}/avoidanceactions`, { metadata: { name: 'disable-scheduling' }, spec: {} });
  }

  /** Writes /proc/stat again and again, always as long, in one write. */
  private passTime(): void {
    const { cpus, busy } = this.options;
    const file = openSync(join(this.folder, 'stat'), 'w');
    const write = () => {
      const ticks = 1e8 + (Date.now() - this.startedAt) / 10;
      const times = [ticks * busy, ticks * (1 - busy)].map((time) => String(1e8 + Math.round(time)));
      const line = (name: string) => `${name} ${times[0]} 0 0 ${times[1]} 0 0 0 0 0 0\n`;
      const lines = Array.from({ length: cpus }, (_, cpu) => line(`cpu${cpu}`));
      writeSync(file, `${line('cpu ')}${lines.join('')}btime 1700000000\n`, 0);
    };
    write();
    this.clock = setInterval(write, 50);
  }

  private cgroupOf(container: Container): string {
    return join(this.folder, 'cgroup', container.linux!.cgroupsPath);
  }

  /** A cgroup of plain files, without a process. Without a cpuset of its own it has that of its parent. */
  private makeCgroup(container: Container, cpus: string): void {
    const all = `0-${this.options.cpus - 1}`;
    const parts = container.linux!.cgroupsPath.split('/').filter((part) => part !== '');
    parts.forEach((_, i) => {
      const folder = join(this.folder, 'cgroup', ...parts.slice(0, i + 1));
      mkdirSync(folder, { recursive: true });
      if (existsSync(join(folder, 'cpuset.cpus'))) return;
      const own = i === parts.length - 1 ? cpus : all;
      const files = {
        'cpuset.cpus': own,
        'cpuset.cpus.effective': all,
        'cpuset.mems': '0',
        'cpuset.mems.effective': '0',
        'cpu.max': 'max 100000',
        'cgroup.threads': '',
        'cpu.stat': 'usage_usec 1000\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0',
      };
      for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), `${text}\n`);
      if (own !== '') followOwn(folder);
    });
  }
}

/** The effective CPUs are the written ones from now on. */
function followOwn(cgroup: string): void {
  const effective = join(cgroup, 'cpuset.cpus.effective');
  rmSync(effective);
  symlinkSync('cpuset.cpus', effective);
}
