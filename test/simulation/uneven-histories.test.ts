import { CpuSet } from '../../src/core/cpuset';
import { NO_OPTIONS, type Settings, type StaticPolicyOptions } from '../../src/core/model/settings';
import type { NodeModel } from '../../src/core/model/node-model';
import {
  keepWholeCores,
  kindsOf,
  machineOf,
  restrictTopology,
  type Topology,
  type Unit,
} from '../../src/core/topology';
import { findBrokenInvariants } from '../support/invariants';
import { createRandom, type Random } from '../support/random';
import { ConfinedNode, randomBound } from './confined-node';
import { unevenMachine } from './uneven-machine';

// Each decision of a history beside a search of its own, which knows sums and subsets and nothing of the order in which
// cpusetd takes CPUs.

const HISTORIES = 300;
const STEPS = 40;

function randomSettings(random: Random, machine: Topology): Settings {
  const ids = machine.online.toArray();
  return {
    cpuManagerPolicy: 'static',
    podPolicies: [],
    options: {
      ...NO_OPTIONS,
      ...random.pick<Partial<StaticPolicyOptions>>([
        {},
        { preferAlignCpusByUncorecache: true },
        { preferAlignCpusByUncorecache: true },
        { fullPcpusOnly: true },
        { distributeCpusAcrossNuma: true },
      ]),
    },
    reserved: CpuSet.of(ids.slice(0, random.int(1, 2))),
    minSharedCpus: random.int(1, 4),
    onInsufficientCpu: 'refuse',
    liftCpuQuota: true,
    memoryNodes: random.pick(['off', 'follow']),
    topologyManager: {
      policy: random.pick(['none', 'none', 'none', 'best-effort', 'single-numa-node']),
      scope: 'container',
      options: { preferClosestNumaNodes: false, maxAllowableNumaNodes: 8 },
    },
  };
}

/** The facts on which one decision was made. */
type Before = Pick<NodeModel, 'topology' | 'settings' | 'free' | 'sharedPool'>;

const spareOf = ({ sharedPool, settings }: Before): number => Math.max(0, sharedPool.size - settings.minSharedCpus);

/** True when some whole cores of these CPUs have just so many together. */
function hasWholeCores({ topology }: Before, within: CpuSet, count: number): boolean {
  const whole = machineOf(topology).cores.filter(({ cpus }) => cpus.isSubsetOf(within));
  let sums = new Set([0]);
  for (const { cpus } of whole) sums = new Set([...sums, ...[...sums].map((sum) => sum + cpus.size)]);
  return sums.has(count);
}

function fits(before: Before, within: CpuSet, count: number): boolean {
  const cpus = before.free.intersect(within);
  if (spareOf(before) < count) return false;
  return before.settings.options.fullPcpusOnly ? hasWholeCores(before, cpus, count) : cpus.size >= count;
}

/** The least number of these units that have `count` of the CPUs together. Tries every subset. */
function fewest(units: readonly Unit[], cpus: CpuSet, count: number): number {
  const sizes = units.map((unit) => unit.cpus.countIn(cpus)).filter((size) => size > 0);
  let best = Infinity;
  for (let bits = 1; bits < 2 ** sizes.length; bits++) {
    const chosen = sizes.filter((_, i) => (bits >> i) & 1);
    if (chosen.reduce((sum, size) => sum + size, 0) >= count) best = Math.min(best, chosen.length);
  }
  return best;
}

const countUnits = (units: readonly Unit[], cpus: CpuSet): number =>
  units.filter((unit) => unit.cpus.overlaps(cpus)).length;

/** The rules that the CPUs of a new container break. */
function judgeGiven(before: Before, count: number, given: CpuSet, seen: Seen): string[] {
  const { topology, settings, free } = before;
  const { options, topologyManager } = settings;
  const broken: string[] = [];
  if (given.size !== count || !given.isSubsetOf(free)) broken.push(`${count} of ${free.toString()} became ${given.toString()}`); // prettier-ignore
  if (count > spareOf(before)) broken.push(`the pool of ${before.sharedPool.toString()} keeps too few`);
  if (options.fullPcpusOnly && !keepWholeCores(topology, given).equals(given)) broken.push('cores are torn');
  const policy = topologyManager!.policy;
  if (policy === 'single-numa-node' && countUnits(topology.numaNodes, given) > 1) broken.push('several NUMA nodes');
  if (policy !== 'none') return broken;

  const kinds = topology.coreKinds.filter(({ cpus }) => fits(before, cpus, count));
  const isMixed = kindsOf(topology, given).length > 1;
  if (isMixed && !options.fullPcpusOnly && kinds.length > 0) broken.push(`kinds are mixed, and one has room`);
  if (isMixed) seen.mixed++;
  const reach = isMixed ? free : (topology.coreKinds.find(({ cpus }) => cpus.overlaps(given))?.cpus ?? topology.online);
  if (options.preferAlignCpusByUncorecache) {
    const least = fewest(topology.uncoreCaches, free.intersect(reach), count);
    const used = countUnits(topology.uncoreCaches, given);
    if (used !== least) broken.push(`${used} caches instead of ${least}`);
    if (least > 1) seen.severalCaches++;
  }
  if (options.distributeCpusAcrossNuma && fewest(topology.numaNodes, free.intersect(reach), count) === 1) {
    const used = countUnits(topology.numaNodes, given);
    if (used > 1) broken.push(`${used} NUMA nodes although one has room`);
    seen.oneNode++;
  }
  return broken;
}

/** The rule that a refusal breaks: another choice would have been possible. */
function judgeRefusal(before: Before, count: number, seen: Seen): string[] {
  const { topology, settings } = before;
  const { policy } = settings.topologyManager!;
  const possible =
    policy === 'single-numa-node'
      ? topology.numaNodes.some(({ cpus }) => fits(before, cpus, count))
      : fits(before, topology.online, count);
  if (before.free.size >= count) seen.refusedWithFree++;
  return possible ? ['a refusal although it fits'] : [];
}

interface Seen {
  given: number;
  mixed: number;
  severalCaches: number;
  oneNode: number;
  refused: number;
  refusedWithFree: number;
  confined: number;
  overlapping: number;
}

function runHistory(seed: number, seen: Seen): void {
  const random = createRandom(seed);
  const machine = unevenMachine(random);
  const node = new ConfinedNode(machine, randomSettings(random, machine), randomBound(random, machine));
  node.start();
  const done: string[] = [];
  for (let i = 0; i < STEPS; i++) {
    const action = random.pick(['create', 'create', 'create', 'create', 'remove', 'remove', 'hotplug', 'bound']);
    const broken: string[] = [];
    if (action === 'remove' && node.pods.size > 0) node.removePod(random.pick([...node.pods.keys()]));
    if (action === 'bound') node.changeBound(randomBound(random, machineOf(node.topology)));
    if (action === 'hotplug') {
      const keep = machine.online.toArray().filter((id) => id === 0 || random.chance(0.9));
      node.changeTopology(random.chance(0.5) ? machine : restrictTopology(machine, CpuSet.of(keep)));
    }
    if (action === 'create') {
      const { topology, settings, free, sharedPool } = node.daemon!.model;
      const before: Before = { topology, settings, free, sharedPool };
      const count = random.int(1, 6);
      const pod = node.addPod(true);
      const id = node.create(pod, 'app', count);
      done.push(`create ${count} of ${free.toString()}`);
      if (id === undefined) {
        seen.refused++;
        broken.push(...judgeRefusal(before, count, seen));
        node.removePod(pod.sandboxId);
      } else {
        seen.given++;
        const { cpus } = node.daemon!.model.assignments.get(`${pod.uid}/app`)!;
        broken.push(...judgeGiven(before, count, cpus, seen));
        node.startContainer(id);
      }
      if (topology.confinement) seen.confined++;
      if (topology.memoryNodes.length > topology.numaNodes.length) seen.overlapping++;
    } else done.push(action);
    jest.advanceTimersByTime(50);
    broken.push(...findBrokenInvariants(node));
    if (broken.length > 0) throw new Error(`seed ${seed}, after: ${done.join(', ')}\n${broken.join('\n')}`);
  }
  node.kill();
}

// Work after an answer is done when a history advances the timers.
beforeAll(() => jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'Date'] }));
afterAll(() => jest.useRealTimers());

test(`${HISTORIES} random histories on uneven, hybrid, confined and overlapping machines: the fewest caches, one kind of cores, no refusal that another choice would avoid`, () => {
  const seen: Seen = { given: 0, mixed: 0, severalCaches: 0, oneNode: 0, refused: 0, refusedWithFree: 0, confined: 0, overlapping: 0 }; // prettier-ignore
  for (let seed = 1; seed <= HISTORIES; seed++) runHistory(seed, seen);
  expect(Math.min(seen.given, seen.refused, seen.refusedWithFree, seen.confined, seen.overlapping)).toBeGreaterThan(
    1_000,
  );
  expect(Math.min(seen.mixed, seen.severalCaches, seen.oneNode)).toBeGreaterThan(50);
});
