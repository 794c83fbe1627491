import { CpuSet } from '../../../src/core/cpuset';
import { NO_OPTIONS, type StaticPolicyOptions } from '../../../src/core/model/settings';
import { isWithinFloors, POLICIES, type Decision, type Snapshot } from '../../../src/core/policy';
import {
  buildTopology,
  hasUnlikeCores,
  keepWholeCores,
  threadsPerCore,
  type CpuInfo,
  type Topology,
} from '../../../src/core/topology';
import { createRandom, type Random } from '../../support/random';
import { bareSnapshot } from './bare-snapshot';

/**
 * A small machine of uneven nodes: cores of one or two threads, in nodes of one to four cores, sockets of one or two
 * nodes.
 */
function unevenMachine(random: Random): Topology {
  const cpus: CpuInfo[] = [];
  const threads = random.int(1, 2);
  let core = 0;
  for (let node = 0, nodes = random.int(1, 4); node < nodes; node++)
    for (let left = random.int(1, 3); left > 0; left--, core++)
      for (let thread = random.chance(0.9) ? threads : 1; thread > 0; thread--)
        cpus.push({ id: cpus.length, core, socket: node >> 1, numaNode: node, uncoreCache: core >> 1 });
  return buildTopology({ cpus });
}

/**
 * The pool with its floor, followers of random sets of nodes, and CPUs that lie idle in the pod or belong to others.
 */
function randomSnapshot(random: Random, always?: Partial<StaticPolicyOptions>): Snapshot {
  const topology = unevenMachine(random);
  const online = topology.online.toArray();
  const owner = new Map(
    online.map((cpu) => [cpu, random.pick(['free', 'free', 'free', 'idle', 'busy', 'other', 'held'])]),
  );
  const cpusOf = (...names: string[]) => CpuSet.of(online.filter((cpu) => names.includes(owner.get(cpu)!)));
  const reserved = CpuSet.of(online.filter((cpu) => cpu === 0 || random.chance(0.1)));
  const free = cpusOf('free').minus(reserved);
  const idle = cpusOf('idle').minus(reserved);
  const own = random.chance(0.2) ? idle : CpuSet.empty;
  const strict = random.chance(0.5);
  const sharedPool = cpusOf('free', 'held')
    .minus(reserved)
    .union(strict ? CpuSet.empty : reserved);
  const sets = Array.from({ length: random.pick([0, 0, 1, 2, 3]) }, () => {
    const nodes = topology.numaNodes.filter(() => random.chance(0.5));
    return CpuSet.unionOf(nodes.map(({ cpus }) => cpus.intersect(sharedPool).minus(reserved)));
  });
  const policy = random.pick(['none', 'best-effort', 'restricted', 'single-numa-node'] as const);
  const options: StaticPolicyOptions = {
    ...NO_OPTIONS,
    ...random.pick<Partial<StaticPolicyOptions>>([
      {},
      {},
      { fullPcpusOnly: true },
      { preferAlignCpusByUncorecache: true },
      { distributeCpusAcrossNuma: true },
      ...(policy === 'single-numa-node' ? [] : [{ alignBySocket: true }]),
    ]),
    ...always,
  };
  return bareSnapshot(topology, {
    free,
    own,
    idleInPod: idle.minus(own),
    ownedByPod: idle.union(random.chance(0.3) ? cpusOf('busy').minus(reserved) : CpuSet.empty),
    sharedPool,
    followers: { sets, demand: new Map(), ownNodes: CpuSet.empty, nodesOfPod: CpuSet.empty },
    settings: {
      reserved,
      options,
      minSharedCpus: random.int(1, 6),
      topologyManager: {
        policy,
        scope: random.pick(['container', 'pod'] as const),
        options: { preferClosestNumaNodes: false, maxAllowableNumaNodes: 8 },
      },
    },
  });
}

/** The result of the scheduler, on random nodes. */
function randomRest(random: Random, { topology }: Snapshot, count: number): ReadonlyMap<number, number> | undefined {
  if (random.chance(0.6)) return undefined;
  const nodes = topology.numaNodes.filter(() => random.chance(0.7));
  return new Map(nodes.map(({ id }) => [id, random.int(1, count)]));
}

/** Nothing is a floor: the choice is that of the free CPUs which it is given. */
const withoutFloors = (snapshot: Snapshot, free: CpuSet): Snapshot => ({
  ...snapshot,
  free,
  settings: { ...snapshot.settings, minSharedCpus: 0 },
  followers: { ...snapshot.followers, sets: [] },
  sharedPool: free.union(CpuSet.of([10_000])), // reserved CPUs, as many as it takes
});

function* subsetsOf(ids: readonly number[]): Generator<CpuSet> {
  for (let bits = 0; bits < 2 ** ids.length; bits++) yield CpuSet.of(ids.filter((_, i) => (bits >> i) & 1));
}

type Request = Parameters<(typeof POLICIES)['static']>[1];

/**
 * The CPUs that could be kept so that the request is met and the floors hold; undefined when there are none. Tries
 * every subset.
 */
function findKept(snapshot: Snapshot, request: Request): CpuSet | undefined {
  for (const kept of subsetsOf(snapshot.free.toArray())) {
    const decision = POLICIES.static(withoutFloors(snapshot, snapshot.free.minus(kept)), request);
    if (isWithinFloors(snapshot, decision)) return kept;
  }
  return undefined;
}

const SEEDS = 3_000;

test.each<[string, Partial<StaticPolicyOptions> | undefined, { readonly pinned: number; readonly sparing: number }]>([
  ['any options', undefined, { pinned: 500, sparing: 50 }],
  ['whole cores', { fullPcpusOnly: true, alignBySocket: false }, { pinned: 400, sparing: 20 }],
])(
  `given uneven machines and %s, no request is refused that another choice of kept CPUs would allow: ${SEEDS} seeds`,
  (_what, always, least) => {
    const counts = { pinned: 0, sparing: 0, refusedByFloors: 0, refused: 0 };
    for (let seed = 1; seed <= SEEDS; seed++) {
      const random = createRandom(seed);
      const snapshot = randomSnapshot(random, always);
      if (snapshot.free.size > 8) continue;
      const { fullPcpusOnly } = snapshot.settings.options;
      const unit = fullPcpusOnly && !hasUnlikeCores(snapshot.topology) ? threadsPerCore(snapshot.topology) : 1;
      const count = unit * random.int(1, 5);
      const rest = randomRest(random, snapshot, count);
      const request: Request = { count, podCount: count, memoryBytes: 0, ...(rest && { restOfResult: rest }) };
      const decision: Decision = POLICIES.static(snapshot, request);
      const unbound = POLICIES.static(withoutFloors(snapshot, snapshot.free), request);
      if (decision.kind === 'pin') {
        counts.pinned++;
        const { cpus } = decision;
        expect({ seed, size: cpus.size, isWithin: isWithinFloors(snapshot, decision) || cpus.countIn(snapshot.sharedPool) === 0 })
        .toEqual({ seed, size: count, isWithin: true }); // prettier-ignore
        if (fullPcpusOnly && !cpus.equals(snapshot.own))
          expect(keepWholeCores(snapshot.topology, cpus).toString()).toBe(cpus.toString());
        if (unbound.kind === 'pin' && !isWithinFloors(snapshot, unbound)) counts.sparing++;
        continue;
      }
      const kept = findKept(snapshot, request);
      const because = 'because' in decision ? decision.because : '';
      expect({ seed, kind: decision.kind, because, kept: kept?.toString() }).toMatchObject({ seed, kind: 'refuse', kept: undefined }); // prettier-ignore
      expect({ seed, because, code: decision.kind === 'refuse' && decision.code }).not.toMatchObject({
        code: 'INTERNAL',
      });
      counts[unbound.kind === 'pin' ? 'refusedByFloors' : 'refused']++;
    }
    expect(counts.pinned).toBeGreaterThan(least.pinned);
    expect(counts.sparing).toBeGreaterThan(least.sparing);
    expect(counts.refusedByFloors).toBeGreaterThan(50);
    expect(counts.refused).toBeGreaterThan(200);
  },
);
