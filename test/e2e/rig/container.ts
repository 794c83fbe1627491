import { closeSync, existsSync, openSync, writeSync } from 'node:fs';
import {
  ContainerState,
  type ContainerStatus,
  ExecSyncRequest,
  LinuxContainerResources,
  RuntimeServiceDefinition,
} from '../../gen/cri/v1/cri';
import type { Channel } from '../../../src/cri/client';
import { type CpusetFiles, readCpuset, readMask, readPids, writeCpuset } from './cgroup-files';
import { readContainerLog, waitForLogLines } from './container-log';
import { patienceMs, poll, waitUntil } from '../../support/wait-until';

const { methods } = RuntimeServiceDefinition;

/** A running command inside a container, which ends when the test lets it. */
export interface HeldCommand {
  /** Lets it end. */
  finish(): void;
  /** Its standard output. */
  readonly output: Promise<string>;
}

/** A created container: its state in the runtime, its cgroup, and its output. */
export class RunningContainer {
  constructor(
    private readonly channel: Channel,
    readonly id: string,
    readonly name: string,
    /** The cgroup exists from start to end of its processes. */
    readonly cgroupPath: string,
    readonly logFile: string,
  ) {}

  async start(): Promise<void> {
    await this.channel.call(methods.startContainer, { containerId: this.id });
  }

  /** @param graceSeconds before SIGKILL; its first process ignores SIGTERM */
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
    const request = ExecSyncRequest.create({ containerId: this.id, cmd, timeout: 120n });
    const { stdout, stderr, exitCode } = await this.channel.call(methods.execSync, request);
    if (exitCode !== 0) throw new Error(`${cmd.join(' ')}: exit ${exitCode}: ${Buffer.from(stderr).toString()}`);
    return Buffer.from(stdout).toString();
  }

  /**
   * Runs a command inside that prints `done` when the test lets it end. Resolves when it has begun. Works once for each
   * container.
   */
  async execHeld(): Promise<HeldCommand> {
    const output = this.exec('sh', '-c', 'mkfifo /tmp/go && read -r line < /tmp/go; echo done');
    output.catch(() => undefined); // the caller gets the error
    const fifo = `/proc/${this.pids()[0]}/root/tmp/go`;
    await waitUntil('the command to run', () => existsSync(fifo));
    const fd = openSync(fifo, 'r+'); // for both directions: this does not wait for a reader
    const close = () => closeSync(fd);
    output.then(close, close);
    return { output, finish: () => void writeSync(fd, '\n') };
  }

  /** The complete lines of its output so far. */
  lines(): string[] {
    return readContainerLog(this.logFile);
  }

  /** The first line of its output: with `printMaskThenSleep`, the CPUs that its first instruction could run on. */
  async firstLine(): Promise<string> {
    return (await this.firstLines(1))[0]!;
  }

  /** At least this number of lines, from the first. */
  firstLines(count: number): Promise<string[]> {
    return waitForLogLines(this.logFile, count);
  }

  /** Waits for its end. CRI events are not reliable on every runtime, so its status is asked. */
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

  /** Its processes. @throws ENOENT as above */
  pids(): number[] {
    return readPids(this.cgroupPath);
  }

  /** The allowed CPUs of each of its processes. @throws when it has no process */
  masks(): string[] {
    const pids = this.pids();
    if (pids.length === 0) throw new Error(`container ${this.name} has no process`);
    return pids.map(readMask);
  }

  /** Causes drift: writes the cpuset of its cgroup, past cpusetd and the runtime. */
  writeCpuset(cpus: string): void {
    writeCpuset(this.cgroupPath, cpus);
  }
}
