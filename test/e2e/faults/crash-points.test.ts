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
 * Where the daemon dies, seen from one request of the runtime:
 * - `undelivered`: the request is in its socket, and it has not read it (stopped, then killed);
 * - `answer lost`: it has decided, saved and answered, and the runtime never sees the answer.
 * A death right after an answer that was seen is the first of these, one request later.
 */
type Death = 'undelivered' | 'answer lost';
const DEATHS: readonly Death[] = ['undelivered', 'answer lost'];

/** One socket, four cores, eight CPUs. */
const MACHINE = '1x4x2';

interface Victim {
  /** Stops it where it is, so that it reads nothing more. */
  stop(): void;
  kill(): Promise<void>;
}

/** Kills the victim at the request of this number. @returns how many there were, and how to end this */
function armRequests(at: number, death: Death, victim: Victim): { readonly asked: () => number; remove(): void } {
  const original = NriRuntimePeer.prototype.request; // eslint-disable-line @typescript-eslint/unbound-method
  let asked = 0;
  NriRuntimePeer.prototype.request = async function (...args) {
    if (asked++ !== at) return original.apply(this, args);
    if (death === 'undelivered') victim.stop();
    const answering = original.apply(this, args);
    if (death === 'answer lost') await answering;
    await victim.kill();
    await answering; // ends with the connection
    return new Uint8Array(0); // as of one who has answered nothing
  };
  return { asked: () => asked, remove: () => void (NriRuntimePeer.prototype.request = original) };
}

/**
 * A runtime of entries in a table. Cgroups are plain files, written by it alone (a file keeps the tail of what was longer,
 * a kernel does not): the daemon moves containers by its answers, so an answer that is lost loses moves too.
 */
class Node {
  readonly folder = mkdtempSync(join(tmpdir(), 'cpusetd-c-'));
  readonly cgroupRoot = join(this.folder, 'cgroup');
  readonly socketPath = join(this.folder, 'nri.sock');
  readonly running = new Map<string, { readonly pod: PodSandbox; readonly container: Container }>();
  /** CPUs that the runtime has seen in an answer for a container of its own CPUs, by container id. */
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

  /** As the runtime does with what it was told: the kernel follows its table. */
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

/** Every exclusive container on CPUs of its own, nobody else on them, nobody deprived: by kernel files and by status. */
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
  if (taken.isEmpty) broken.push('nobody is pinned');
  if (parseCpuList(node.cpusetOf('web')).overlaps(taken))
    broken.push(`web is on ${node.cpusetOf('web')}, where ${taken.toString()} is taken`);
  return broken;
}

/** One life that dies at request `at`, and one after it. @returns what is broken, and how many requests the history has */
async function live(at: number, death: Death): Promise<{ broken: string[]; asked: number }> {
  return withSysfs(loadMachine(MACHINE), async (sysfsRoot) => {
    const node = new Node();
    await node.open();
    const machine = ['--reserved-cpus', '0', '--cri-endpoint', 'off', '--sysfs-root', sysfsRoot];
    const paths = ['--cgroup-writes', 'off', '--cgroup-root', node.cgroupRoot, '--nri-socket', node.socketPath];
    const daemon = startDaemon({ args: [...machine, ...paths] });
    let dead = false;
    const requests = armRequests(at, death, {
      stop: () => process.kill(daemon.pid, 'SIGSTOP'),
      async kill() {
        await daemon.kill();
        dead = true;
      },
    });
    let life = 0;
    let synchronized = 0;
    node.runtime.on('synchronized', () => synchronized++);
    const started = () => waitUntil('life', () => synchronized > 0 || dead, patience.deadlineMs);
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

test('the daemon is killed at each request of a short history: who was answered CPUs keeps them, nobody else has them', async () => {
  let points = 0;
  const whole = await live(Infinity, 'answer lost');
  expect(whole.broken).toEqual([]);
  for (const death of DEATHS) {
    for (let at = 0; at < whole.asked; at++, points++) {
      const { broken } = await live(at, death);
      expect({ at, death, broken }).toEqual({ at, death, broken: [] });
    }
  }
  process.stderr.write(`${points} deaths of a real process, two at each request\n`);
});
