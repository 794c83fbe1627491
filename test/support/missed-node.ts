import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Container } from '../../gen/nri/v1alpha1/nri';
import { builtBundle } from './built-bundle';
import { daemonArguments, daemonPaths, makeDaemonHost } from './daemon-paths';
import { NriRuntime } from './nri-runtime';
import { waitUntil } from './wait-until';
import { findFreePort } from './free-port';

/** A process of the bundle on a `MissedNode`. */
export interface DaemonProcess {
  readonly pid: number;
  /** Ends it in an orderly way. */
  stop(): Promise<void>;
}

/**
 * A node of plain files, with a fake runtime over a real socket on which containers start while cpusetd is not
 * connected, and processes of the bundle as cpusetd.
 */
export class MissedNode {
  readonly paths: Readonly<Record<string, string>>;
  private runtime: NriRuntime | undefined;
  /** The socket to which nobody connects: containers start there. */
  private hidden: NriRuntime | undefined;
  private readonly kills: (() => void)[] = [];
  private started = 0;

  private constructor(
    private readonly folder: string,
    private readonly port: number,
  ) {
    this.paths = daemonPaths(folder);
  }

  static async open(): Promise<MissedNode> {
    const folder = mkdtempSync(join(tmpdir(), 'missed-'));
    makeDaemonHost(folder, '1x4x2');
    const node = new MissedNode(folder, await findFreePort());
    await node.stopRuntime();
    return node;
  }

  /** The runtime goes away for cpusetd, with all its containers. */
  async stopRuntime(): Promise<void> {
    const hidden = await NriRuntime.listen({ socketPath: join(this.folder, 'hidden.sock') });
    if (this.runtime) hidden.adopt(this.runtime);
    await this.runtime?.close();
    [this.runtime, this.hidden] = [undefined, hidden];
  }

  /** The runtime can be connected to, with all its containers. */
  async startRuntime(): Promise<void> {
    this.runtime = await NriRuntime.listen({ socketPath: this.paths['nri-socket']! });
    this.runtime.adopt(this.hidden!); // before anyone can have connected
    await this.hidden!.close();
    this.hidden = undefined;
  }

  /** Starts a BestEffort container while the runtime is stopped. */
  async miss(name = `missed-${++this.started}`): Promise<Container> {
    const pod = await this.hidden!.runPod({ name, qos: 'besteffort' });
    const container = await this.hidden!.createContainer(pod, { name: 'main' });
    await this.hidden!.startContainer(container);
    return container;
  }

  /** Makes the cgroup of a container, with these processes. */
  makeCgroup({ linux }: Container, pids: readonly number[]): void {
    const directory = join(this.paths['cgroup-root']!, linux!.cgroupsPath);
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, 'cgroup.procs'), pids.map((pid) => `${pid}\n`).join(''));
    writeFileSync(join(directory, 'cpuset.cpus'), '\n');
    writeFileSync(join(directory, 'cpuset.cpus.effective'), '0-7\n');
  }

  async startDaemon(): Promise<DaemonProcess> {
    const args = daemonArguments(this.folder, {
      'cgroup-writes': 'off',
      'cri-endpoint': 'off',
      'reserved-cpus': '0',
      'metrics-address': `127.0.0.1:${this.port}`,
    });
    const child = spawn(process.execPath, [builtBundle(), ...args], {
      env: {},
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    this.kills.push(() => child.kill('SIGKILL'));
    const ended = once(child, 'exit');
    await once(child, 'spawn');
    return {
      pid: child.pid!,
      stop: async () => {
        child.kill('SIGTERM');
        await ended;
      },
    };
  }

  /** The answer of /metrics as soon as cpusetd has the runtime's containers. */
  async scrape(): Promise<string> {
    let text = '';
    const isReady = async (): Promise<boolean> => {
      text = await fetch(`http://127.0.0.1:${this.port}/metrics`).then(
        (answer) => answer.text(),
        () => 'no answer',
      );
      return text.includes('cpusetd_nri_connection_state{state="ready"} 1\n');
    };
    await waitUntil('cpusetd has the containers', isReady, 30_000, { seen: () => text });
    return text;
  }

  async close(): Promise<void> {
    for (const kill of this.kills) kill();
    await this.runtime?.close();
    await this.hidden?.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
