import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';

import {
  ConfigureRequest,
  RegisterPluginRequest,
  SynchronizeRequest,
  type Container,
  type PodSandbox,
} from '../../gen/nri/v1alpha1/nri';
import { Mux, TtrpcClient, TtrpcServer } from '../../src/wire';
import { pinMainThread } from './pin';

const PLUGIN_SERVICE = 'nri.pkg.api.v1alpha1.Plugin';
const RUNTIME_SERVICE = 'nri.pkg.api.v1alpha1.Runtime';
const METADATA = [{ key: 'containerd-namespace-ttrpc', value: 'k8s.io' }];

/** As in deploy/cpusetd.service and the image. */
export const DEPLOYED_ENV = {
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '131072',
  NODE_OPTIONS: '--v8-pool-size=1',
};

export interface PluginProcessOptions {
  /** The socket of the runtime's side; the arguments of the process name it. */
  readonly socketPath: string;
  /** Script and arguments for node. */
  readonly command: readonly string[];
  /** Its standard output and error go here. */
  readonly logFile: string;
}

/** A plugin in a process of its own, and the runtime's side of its connection. */
export class PluginProcess {
  private constructor(
    private readonly child: ChildProcess,
    private readonly plugin: TtrpcClient,
    /** Resolves with the milliseconds from before the spawn to RegisterPlugin. */
    readonly registeredMs: Promise<number>,
  ) {}

  /**
   * Starts it with an environment of nothing but PATH and the variables of deploy/cpusetd.service, and resolves when it
   * has connected.
   */
  static async start({ socketPath, command, logFile }: PluginProcessOptions): Promise<PluginProcess> {
    rmSync(socketPath, { force: true });
    const server = createServer().listen(socketPath);
    await once(server, 'listening');
    const log = openSync(logFile, 'a');
    const startMs = performance.now();
    const child = spawn(process.execPath, command, {
      stdio: ['ignore', log, log],
      env: { PATH: process.env.PATH, ...DEPLOYED_ENV },
    });
    closeSync(log);
    const ended = once(child, 'exit').then(() => {
      throw new Error(`the plugin has ended:\n${readFileSync(logFile, 'utf8')}`);
    });
    const [socket] = (await Promise.race([once(server, 'connection'), ended])) as [Socket];
    ended.catch(() => undefined); // once it is connected, the end of the connection tells
    server.close();
    const mux = new Mux(socket);
    const registeredMs = new Promise<number>((resolve) => {
      const accept = ({ payload }: { payload: Uint8Array }): Uint8Array => {
        RegisterPluginRequest.decode(payload);
        resolve(performance.now() - startMs);
        return new Uint8Array(0);
      };
      new TtrpcServer(mux.open(2), { [RUNTIME_SERVICE]: { RegisterPlugin: accept } });
    });
    return new PluginProcess(child, new TtrpcClient(mux.open(1)), registeredMs);
  }

  /** One call, as a runtime makes it, but for its patience: a busy machine shall not end a measurement. */
  call(method: string, payload: Uint8Array): Promise<Uint8Array> {
    return this.plugin.call(PLUGIN_SERVICE, method, payload, { timeoutMs: 30_000, metadata: METADATA });
  }

  /** Waits for the registration, then configures and synchronizes. */
  async introduce(pods: readonly PodSandbox[] = [], containers: readonly Container[] = []): Promise<void> {
    await this.registeredMs;
    const configure = ConfigureRequest.create({ runtimeName: 'containerd', runtimeVersion: 'v2.1.9' });
    await this.call('Configure', ConfigureRequest.encode(configure).finish());
    const all = SynchronizeRequest.create({ pods: [...pods], containers: [...containers] });
    await this.call('Synchronize', SynchronizeRequest.encode(all).finish());
  }

  /** Keeps its main thread on these CPUs. */
  pin(cpus: string): void {
    pinMainThread(this.child.pid!, cpus);
  }

  /** Resident memory in MiB, as the kernel counts it. */
  residentMiB(): number {
    return residentMiB(this.child.pid ?? 0);
  }

  /** Processor time of all threads so far. */
  cpuMs(): number {
    const tasks = `/proc/${this.child.pid ?? 0}/task`;
    const ns = readdirSync(tasks).map((tid) => Number(readFileSync(`${tasks}/${tid}/schedstat`, 'utf8').split(' ')[0]));
    return ns.reduce((sum, each) => sum + each, 0) / 1e6;
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, 'exit');
    this.child.kill();
    await ended;
  }
}

/** Resident memory of a process in MiB, as the kernel counts it. */
export function residentMiB(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}
