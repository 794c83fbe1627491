import { parseCpuList } from '../../src/core/cpuset';
import { IMMEDIATE_REPAIRS } from '../../src/core/verdict/repair-backoff';
import {
  onlineCpus,
  poll,
  printMaskThenSleep,
  readMask,
  type RunningContainer,
  type RunningPod,
  type Runtime,
} from '../e2e/rig';
import type { Random } from '../support/random';

const MAX_PODS = 8;
const QUIET_WITHIN_MS = 60_000;

type Kind = 'shared' | 'exclusive';

interface Live {
  readonly kind: Kind;
  readonly pod: RunningPod;
  container: RunningContainer;
}

/** Maximum number of foreign writes to a container: after more of them, repairs stop. */
const MAX_TAMPERING = IMMEDIATE_REPAIRS;

/** Starts and removes pods, writes their cpusets directly, and checks the kernel. */
export class Churn {
  readonly counts = { created: 0, refused: 0, removed: 0, restarted: 0, died: 0, tampered: 0 };
  private live: Live[] = [];
  private readonly tamperedWith = new Map<string, number>();

  constructor(
    private readonly runtime: Runtime,
    private readonly random: Random,
  ) {}

  /** Number of running containers. */
  get size(): number {
    return this.live.length;
  }

  /** Does one random action. */
  async step(): Promise<void> {
    const { random, live } = this;
    const action = random.pick([
      'add',
      'add',
      'add',
      'remove',
      'remove',
      'restart',
      'die',
      'tamper',
      'tamper',
    ] as const);
    if (action === 'add' || live.length === 0) {
      if (live.length >= MAX_PODS) return this.remove(random.pick(live));
      return this.add(random.chance(0.5) ? 'exclusive' : 'shared');
    }
    const picked = random.pick(live);
    if (action === 'remove') return this.remove(picked);
    if (action === 'tamper') {
      const { id } = picked.container;
      const times = (this.tamperedWith.get(id) ?? 0) + 1;
      if (times > MAX_TAMPERING) return;
      this.tamperedWith.set(id, times);
      this.counts.tampered++;
      picked.container.writeCpuset(random.pick(['0', '1', onlineCpus]));
      return;
    }
    if (action === 'restart') {
      this.counts.restarted++;
      await picked.container.stop();
    } else {
      this.counts.died++;
      for (const pid of picked.container.pids()) process.kill(pid, 'SIGKILL');
      await picked.container.exitCode(QUIET_WITHIN_MS);
    }
    // A container that started unpinned while cpusetd was away may now be refused, because its CPUs are taken.
    await this.orRefused(picked.pod, async () => {
      picked.container = await picked.pod.startContainer('main');
    });
  }

  /** Waits until the kernel shows no violation. Gives the last violations at the deadline. */
  async findViolations(): Promise<readonly string[]> {
    let last: readonly string[] = [];
    const look = () => {
      try {
        last = this.look();
      } catch (error) {
        last = [`could not be looked at: ${String(error)}`];
      }
      return last.length === 0 ? last : undefined;
    };
    return poll('quiet', look, QUIET_WITHIN_MS).catch(() => last);
  }

  async removeAll(): Promise<void> {
    for (const live of [...this.live]) await this.remove(live);
  }

  private async add(kind: Kind): Promise<void> {
    const spec = kind === 'exclusive' ? { cpus: 1 } : { cpuRequestMilli: 100 };
    const pod = await this.runtime.kubelet.runPod({
      containers: [{ name: 'main', command: printMaskThenSleep, ...spec }],
    });
    await this.orRefused(pod, async () => {
      this.live.push({ kind, pod, container: await pod.startContainer('main') });
      this.counts.created++;
    });
  }

  private async orRefused(pod: RunningPod, act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      if (!/can be given now/.test(String(error))) throw error;
      this.counts.refused++;
      this.live = this.live.filter((live) => live.pod !== pod);
      await pod.remove();
    }
  }

  private async remove(live: Live): Promise<void> {
    this.live = this.live.filter((other) => other !== live);
    await live.pod.remove();
    this.counts.removed++;
  }

  private look(): string[] {
    const wrong: string[] = [];
    const seen = this.live.map(({ kind, container }) => ({
      kind,
      container,
      cpus: parseCpuList(container.cpuset().cpus),
    }));
    const owners = seen.filter(({ kind, cpus }) => kind === 'exclusive' && cpus.size === 1 && !cpus.has(0));
    const owned = owners.reduce((all, { cpus }) => all.union(cpus), parseCpuList(''));
    if (owned.size !== owners.length) wrong.push('two containers have the same CPU for their own');
    // An exclusive container may lack a CPU only if it started while cpusetd was away, and only while none is free.
    const pool = parseCpuList(onlineCpus).minus(owned);
    if (pool.minus(parseCpuList('0')).size > 0)
      for (const each of seen)
        if (each.kind === 'exclusive' && !owners.includes(each))
          wrong.push(
            `${each.container.id} has no CPU of its own although one is free; it is on ${each.cpus.toString()}`,
          );
    for (const { container, cpus } of seen) {
      const expected = owners.some((owner) => owner.container === container) ? cpus : pool;
      if (!cpus.equals(expected)) wrong.push(`${container.id} is on ${cpus.toString()}, not on ${expected.toString()}`);
      for (const pid of container.pids()) {
        const mask = readMask(pid);
        if (mask !== cpus.toString())
          wrong.push(`process ${pid} of ${container.id} may run on ${mask}, not ${cpus.toString()}`);
      }
    }
    return wrong;
  }
}
