import {
  ContainerState,
  type ContainerStatus,
  ExecSyncRequest,
  LinuxContainerResources,
  RuntimeServiceDefinition,
} from '../../../gen/cri/v1/cri';
import type { Channel } from '../../../src/cri/client';
import { type CpusetFiles, readCpuset, writeCpuset } from './cgroup-files';
import { readContainerLog, waitForLogLines } from './container-log';
import { patienceMs, poll } from './deadline';

const { methods } = RuntimeServiceDefinition;

/** A container that was created, as the runtime, the kernel and its own output tell of it. */
export class RunningContainer {
  constructor(
    private readonly channel: Channel,
    readonly id: string,
    readonly name: string,
    /** Exists from start to end of its processes. */
    readonly cgroupPath: string,
    readonly logFile: string,
  ) {}

  async start(): Promise<void> {
    await this.channel.call(methods.startContainer, { containerId: this.id });
  }

  /** @param graceSeconds before SIGKILL; its first process does not mind SIGTERM */
  async stop(graceSeconds = 0): Promise<void> {
    await this.channel.call(methods.stopContainer, { containerId: this.id, timeout: BigInt(graceSeconds) });
  }

  async remove(): Promise<void> {
    await this.channel.call(methods.removeContainer, { containerId: this.id });
  }

  async status(): Promise<ContainerStatus> {
    const { status } = await this.channel.call(methods.containerStatus, { containerId: this.id, verbose: false });
    if (status === undefined) throw new Error(`no status of container ${this.name}`);
    return status;
  }

  /** Changes resources as the kubelet does in a resize; absent fields are sent as "not set". */
  async update(resources: Partial<LinuxContainerResources>): Promise<void> {
    const linux = LinuxContainerResources.create(resources);
    const request = { containerId: this.id, linux, windows: undefined, annotations: {} };
    await this.channel.call(methods.updateContainerResources, request);
  }

  /** Runs a command inside and gives its standard output. @throws when it exits with anything but 0 */
  async exec(...cmd: string[]): Promise<string> {
    const request = ExecSyncRequest.create({ containerId: this.id, cmd, timeout: 10n });
    const { stdout, stderr, exitCode } = await this.channel.call(methods.execSync, request);
    if (exitCode !== 0) throw new Error(`${cmd.join(' ')}: exit ${exitCode}: ${Buffer.from(stderr).toString()}`);
    return Buffer.from(stdout).toString();
  }

  /** Complete lines that it has printed so far. */
  lines(): string[] {
    return readContainerLog(this.logFile);
  }

  /** What it printed first: with `printMaskThenSleep` the CPUs that its first instruction could run on. */
  async firstLine(): Promise<string> {
    return (await waitForLogLines(this.logFile, 1))[0]!;
  }

  /** Waits for its end. No event of CRI is reliable for that on every runtime, so its status is asked. */
  async exitCode(deadlineMs = patienceMs): Promise<number> {
    const hasEnded = async () => {
      const status = await this.status();
      return status.state === ContainerState.CONTAINER_EXITED ? status.exitCode : undefined;
    };
    return poll(`the end of container ${this.name}`, hasEnded, deadlineMs);
  }

  /** @throws ENOENT before its start and after its end */
  cpuset(): CpusetFiles {
    return readCpuset(this.cgroupPath);
  }

  /** Makes drift: writes its cgroup behind everybody's back. */
  writeCpuset(cpus: string): void {
    writeCpuset(this.cgroupPath, cpus);
  }
}
