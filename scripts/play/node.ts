import { performance } from 'node:perf_hooks';
import { parseCpuList } from '../../src/core/cpuset';
import { waitUntil } from '../../test/e2e/rig';
import type { ReachableDaemon } from '../demo/cpusetd';
import { type EmbeddedStage, openEmbeddedStage } from '../demo/embedded-stage';
import type { Actor } from '../demo/stage';
import { findMachine } from './machines';

export interface PlayedNodeOptions {
  /** A name that {@link findMachine} knows; absent: this machine. */
  readonly machine: string | undefined;
  /** Absent: the first CPU. */
  readonly reserved: string | undefined;
  readonly daemonArgs: readonly string[];
  /** True: the daemon's Node listens for a debugger. */
  readonly inspects: boolean;
  /** Another build of the daemon than dist/cpusetd.js. */
  readonly bundle: string | undefined;
}

/** A node without containers: the embedded runtime of the demo, and the built daemon. */
export class PlayedNode {
  private readonly actors = new Map<string, Actor>();

  private constructor(
    private readonly stage: EmbeddedStage,
    readonly daemon: ReachableDaemon,
    private readonly options: PlayedNodeOptions,
  ) {}

  /** Starts the daemon on the machine, and waits until it serves. */
  static async open(options: PlayedNodeOptions): Promise<PlayedNode> {
    const { machine, daemonArgs, inspects, bundle } = options;
    const stage = await openEmbeddedStage({
      ...(machine !== undefined && { machine: findMachine(machine) }),
      ...(bundle !== undefined && { bundle }),
      daemonArgs,
      nodeOptions: inspects ? ['--inspect=127.0.0.1:0'] : [],
    });
    const reserved = options.reserved ?? String(parseCpuList(stage.machine).first);
    const node = new PlayedNode(stage, stage.startDaemon(reserved), options);
    try {
      await node.daemon.ready();
      return node;
    } catch (error) {
      await stage.close();
      const said = node.daemon.log.map(({ msg = '' }) => msg).join('\n');
      throw new Error(`${(error as Error).message}; its log:\n${said}`, { cause: error });
    }
  }

  /** The address for a debugger, when one may come. */
  async inspector(): Promise<string | undefined> {
    if (!this.options.inspects) return undefined;
    const line = await this.daemon.waitForLog(({ msg }) => /^Debugger listening on /.test(msg ?? ''));
    return line.msg!.replace(/^Debugger listening on /, '');
  }

  get machine(): string {
    return this.stage.machine;
  }

  /** Runs a pod of one container, which has its name. Gives its CPUs, or the reason of the refusal. */
  async run(name: string, cpus: number): Promise<string> {
    if (this.actors.has(name)) return `${name} runs already; remove it first`;
    try {
      const actor = await this.stage.run(name, cpus);
      this.actors.set(name, actor);
      return `${name} runs on ${actor.cpuset()}`;
    } catch (error) {
      return `${name} is refused: ${(error as Error).message}`;
    }
  }

  /** Stops and removes a pod. */
  async remove(name: string): Promise<string> {
    if (!this.actors.delete(name)) return this.unknown(name);
    await this.stage.remove(name);
    return `${name} is removed`;
  }

  /** Writes a cpuset past cpusetd, and waits until cpusetd has repaired it. */
  async drift(name: string, cpus: string): Promise<string> {
    const actor = this.actors.get(name);
    if (!actor) return this.unknown(name);
    const wanted = actor.cpuset();
    if (parseCpuList(cpus).equals(parseCpuList(wanted))) return `${name} has ${wanted} already`;
    const from = this.daemon.log.length;
    const startMs = performance.now();
    actor.tamper(cpus);
    await waitUntil(`the repair of ${name}`, () => actor.cpuset() === wanted, undefined, {
      seen: () => actor.cpuset(),
    });
    const tookMs = Math.round(performance.now() - startMs);
    const { because } = await this.daemon.waitForLog((line) => line.msg === 'drifted' && line.container === name, {
      from,
    });
    return `${name} has ${wanted} again, after ${tookMs} ms; ${String(because)}`;
  }

  /** Ends everything. Gives what is left, which is nothing. */
  close(): Promise<readonly string[]> {
    return this.stage.close();
  }

  private unknown(name: string): string {
    const names = [...this.actors.keys()];
    return `there is no ${name}; ${names.length === 0 ? 'no pod runs' : `these run: ${names.join(', ')}`}`;
  }
}
