import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Container, PodSandbox } from '../../../gen/nri/v1alpha1/nri';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import { NriRuntime } from '../../support/nri-runtime';
import { NriRuntimePeer } from '../../support/nri-runtime-peer';
import { loadMachine, withSysfs } from '../../support/sysfs-tree';
import { readStatus, type ShownStatus, startDaemon, waitUntil } from '../rig';
import { patience } from './patience';

jest.setTimeout(1_800_000);

/**
 * The moment of the kill, at one request of the runtime:
 * - `undelivered`: the daemon has not read the request from its socket (it is stopped, then killed);
 * - `answer lost`: the daemon has decided, saved and answered, and the runtime does not receive the answer.
 * A kill after a received answer is the same as `undelivered` at the next request.
 */
type KillPoint = 'undelivered' | 'answer lost';
const KILL_POINTS: readonly KillPoint[] = ['undelivered', 'answer lost'];

/** One socket, four cores, eight CPUs. */
const MACHINE = '1x4x2';

interface KillableDaemon {
  /** Stops it with SIGSTOP, so that it reads nothing more. */
  stop(): void;
  kill(): Promise<void>;
}

/**
 * Kills the daemon at the request of this number. @returns the number of requests so far, and a function that ends this
 */
function armRequests(
  at: number,
  killPoint: KillPoint,
  daemon: KillableDaemon,
): { readonly asked: () => number; remove(): void } {
  const original = NriRuntimePeer.prototype.request; // eslint-disable-line @typescript-eslint/unbound-method
  let asked = 0;
  NriRuntimePeer.prototype.request = async function (...args) {
    if (asked++ !== at) return original.apply(this, args);
    if (killPoint === 'undelivered') daemon.stop();
    const answering = original.apply(this, args);
    if (killPoint === 'answer lost') await answering;
    await daemon.kill();
    await answering; // ends with the connection
    return new Uint8Array(0); // an empty answer
  };
  return { asked: () => asked, remove: () => void (NriRuntimePeer.prototype.request = original) };
}

/**
 * A fake runtime with cgroups of plain files. Only the runtime writes them: the daemon moves containers by its answers,
 * so a lost answer loses moves too.
 */
class Node {
  readonly folder = mkdtempSync(join(tmpdir(), 'cpusetd-c-'));
  readonly cgroupRoot = join(this.folder, 'cgroup');
  readonly socketPath = join(this.folder, 'nri.sock');
  readonly running = new Map<string, { readonly pod: PodSandbox; readonly container: Container }>();
  /** The CPUs of exclusive containers in received answers, by container id. */
  readonly answered = new Map<string, string>();
  runtime!: NriRuntime;

  async open(): Promise<void> {
    makeCgroup(this.cgroupRoot, '0-7');
    writeFileSync(join(this.cgroupRoot, 'cgroup.controllers'), 'cpuset cpu\n');
    this.runtime = await NriRuntime.listen({ socketPath: this.socketPath, requestTimeoutMs: patience.deadlineMs });
  }

  async close(): Promise<void> {
    await this.runtime.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async run(name: string, cpus: number): Promise<void> {
    const pod = await this.runtime.runPod({ name, qos: cpus === 0 ? 'burstable' : 'guaranteed' });
    const spec = { name, milliCpu: cpus === 0 ? 100 : cpus * 1000, memoryBytes: 1 << 26 };
    const container = await this.runtime.createContainer(pod, spec);
    const cpuset = this.runtime.cpusOf(container);
    if (cpus > 0 && cpuset !== '') this.answered.set(container.id, cpuset);
    this.running.set(name, { pod, container });
    this.writeCgroups();
    await this.runtime.startContainer(container);
    this.writeCgroups();
  }

  async remove(name: string): Promise<void> {
    const { pod, container } = this.running.get(name)!;
    this.running.delete(name);
    this.answered.delete(container.id);
    rmSync(this.cgroupOf(container), { recursive: true });
    await this.runtime.removePod(pod);
    this.writeCgroups();
  }

  /** Writes the cgroups of all running containers from the runtime's table. */
  writeCgroups(): void {
    for (const [name, { container }] of this.running) makeCgroup(this.cgroupOf(container), this.cpusetOf(name));
  }

  cpusetOf(name: string): string {
    return this.runtime.cpusOf(this.running.get(name)!.container) || '0-7';
  }

  private cgroupOf(container: Container): string {
    return join(this.cgroupRoot, container.linux?.cgroupsPath ?? '');
  }
}

function makeCgroup(folder: string, cpus: string): void {
  mkdirSync(folder, { recursive: true });
  for (const file of ['cpuset.cpus', 'cpuset.cpus.effective']) writeFileSync(join(folder, file), `${cpus}\n`);
  for (const file of ['cpuset.mems', 'cpuset.mems.effective']) writeFileSync(join(folder, file), '0\n');
}

async function play(node: Node): Promise<void> {
  await node.run('web', 0);
  await node.run('db', 2);
  await node.run('cache', 1);
  await node.remove('db');
}

/** Finds exclusive containers that share CPUs with others, or that are not on the promised and answered CPUs. */
function findBroken(node: Node, { containers }: ShownStatus): string[] {
  const broken: string[] = [];
  let taken = CpuSet.empty;
  for (const [name, { container }] of node.running) {
    if (name === 'web') continue;
    const kernel = node.cpusetOf(name);
    const promised = containers.find(({ id }) => id === container.id)?.promise?.cpus ?? 'nothing';
    const answer = node.answered.get(container.id) ?? kernel;
    if (promised !== kernel) broken.push(`${name} is on ${kernel}, and was promised ${promised}`);
    if (kernel !== answer) broken.push(`${name} is on ${kernel}, and was answered ${answer}`);
    if (parseCpuList(kernel).overlaps(taken)) broken.push(`${name} is on CPUs of another: ${kernel}`);
    taken = taken.union(parseCpuList(kernel));
  }
  if (taken.isEmpty) broken.push('no container is pinned');
  if (parseCpuList(node.cpusetOf('web')).overlaps(taken))
    broken.push(`web is on ${node.cpusetOf('web')}, where ${taken.toString()} is taken`);
  return broken;
}

/**
 * Runs a daemon that is killed at request `at`, and another after it. @returns problems, and the number of requests of
 * the history
 */
async function runHistory(at: number, killPoint: KillPoint): Promise<{ broken: string[]; asked: number }> {
  return withSysfs(loadMachine(MACHINE), async (sysfsRoot) => {
    const node = new Node();
    await node.open();
    const machine = ['--reserved-cpus', '0', '--cri-endpoint', 'off', '--sysfs-root', sysfsRoot];
    const paths = ['--cgroup-writes', 'off', '--cgroup-root', node.cgroupRoot, '--nri-socket', node.socketPath];
    const daemon = startDaemon({ args: [...machine, ...paths] });
    let dead = false;
    const requests = armRequests(at, killPoint, {
      stop: () => process.kill(daemon.pid, 'SIGSTOP'),
      async kill() {
        await daemon.kill();
        dead = true;
      },
    });
    let life = 0;
    let synchronized = 0;
    node.runtime.on('synchronized', () => synchronized++);
    const started = () => waitUntil('the start of the daemon', () => synchronized > 0 || dead, patience.deadlineMs);
    try {
      await started();
      await play(node);
      const asked = requests.asked();
      if (dead) {
        synchronized = 0;
        dead = false;
        life = daemon.mark();
        daemon.start();
        await started();
        node.writeCgroups();
      }
      await daemon.waitForLog('started', { ...patience, from: life });
      const broken = findBroken(node, await readStatus(daemon));
      await node.run('late', 1);
      broken.push(...findBroken(node, await readStatus(daemon)));
      for (const name of [...node.running.keys()]) await node.remove(name);
      const { containers, node: shown } = await readStatus(daemon);
      if (containers.length > 0 || shown.sharedPool !== '0-7') broken.push(`at the end: pool ${shown.sharedPool}`);
      return { broken, asked };
    } finally {
      requests.remove();
      await daemon.kill();
      await daemon.dispose();
      await node.close();
    }
  });
}

test('a kill at each request of a short history: containers with answered CPUs keep them, and no other container has them', async () => {
  let points = 0;
  const whole = await runHistory(Infinity, 'answer lost');
  expect(whole.broken).toEqual([]);
  for (const killPoint of KILL_POINTS) {
    for (let at = 0; at < whole.asked; at++, points++) {
      const { broken } = await runHistory(at, killPoint);
      expect({ at, killPoint, broken }).toEqual({ at, killPoint, broken: [] });
    }
  }
  process.stderr.write(`${points} kills of a real process, two at each request\n`);
});
