import { chooseReserved } from '../../../src/core/allocation';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import {
  NO_OPTIONS,
  type Settings,
  type StaticPolicyOptions,
  type TopologyManagerPolicy,
} from '../../../src/core/model/settings';
import { POLICIES, type Snapshot } from '../../../src/core/policy';
import { createRoom, mostIn } from '../../../src/core/policy/room';
import { buildTopology, keepWholeCores, kindsOf, type CpuInfo, type Topology } from '../../../src/core/topology';
import { createRandom, type Random } from '../../support/random';
import { bareSnapshot } from './bare-snapshot';

const cpus = parseCpuList;

const countNodes = (topology: Topology, set: CpuSet): number =>
  topology.numaNodes.filter((node) => node.cpus.overlaps(set)).length;

/** CPUs 0-7 in four fast cores of two threads, 8-13 in six slow ones of one thread. */
const HYBRID = buildTopology({
  cpus: Array.from({ length: 14 }, (_, id) => ({
    id,
    core: id < 8 ? id - (id % 2) : id,
    socket: 0,
    numaNode: 0,
    uncoreCache: 0,
  })),
  coreKinds: [
    { name: 'performance', cpus: cpus('0-7') },
    { name: 'efficiency', cpus: cpus('8-13') },
  ],
});

interface Case {
  readonly free?: string;
  readonly idle?: string;
  readonly own?: string;
  readonly options?: Partial<StaticPolicyOptions>;
}

function decide(count: number, { free = '0-13', idle = '', own = '', options = {} }: Case = {}): string {
  const snapshot = bareSnapshot(HYBRID, {
    free: cpus(free),
    idleInPod: cpus(idle),
    own: cpus(own),
    ownedByPod: cpus(idle).union(cpus(own)),
    sharedPool: cpus('0-13'),
    settings: { options: { ...NO_OPTIONS, ...options } },
  });
  const decision = POLICIES.static(snapshot, { count, podCount: count, memoryBytes: 0 });
  return decision.kind === 'pin' ? decision.cpus.toString() : `${decision.kind}: ${decision.because}`;
}

test.each<[string, number, Case, string]>([
  ['the fastest kind that has room', 2, {}, '0-1'],
  ['all of it', 8, {}, '0-7'],
  ['another kind when the fastest has too few', 4, { free: '0-2,8-13' }, '8-11'],
  ['several kinds when only these have enough', 9, {}, '0-2,8-13'],
  ['the kind of which the pod has CPUs that lie idle', 3, { free: '0-7,10-13', idle: '8-9' }, '8-10'],
  ['its own CPUs when it comes back', 2, { free: '0-7,10-13', own: '8-9' }, '8-9'],
])('a container gets %s', (_what, count, given, want) => {
  expect(decide(count, given)).toBe(want);
});

describe('full-pcpus-only counts by the cores that it gives', () => {
  const full = { options: { fullPcpusOnly: true } };

  test.each<[string, number, Case, string]>([
    ['an even number: fast cores', 4, {}, '0-3'],
    ['an odd number: slow cores', 3, {}, '8-10'],
    ['an odd number that slow cores do not suffice for: both', 7, {}, '0-5,8'],
    ['slow cores where the fast ones are torn', 2, { free: '0,2,4,6,8-13' }, '8-9'],
    ['the sibling of an idle CPU completes a core', 2, { free: '1', idle: '0' }, '0-1'],
  ])('%s', (_what, count, given, want) => {
    expect(decide(count, { ...given, ...full })).toBe(want);
  });

  test('an odd number is refused while no slow core is free, and says so', () => {
    expect(decide(3, { free: '0-7', ...full })).toBe(
      'refuse: asked for 3 exclusive CPUs; no whole cores that can be given now have just 3 CPUs together',
    );
  });

  test('a number that no cores of the machine have is refused for good', () => {
    const even = buildTopology({ cpus: HYBRID.cpus.filter(({ id }) => id < 8) });
    const snapshot = bareSnapshot(even, { free: even.online, settings: { options: { ...NO_OPTIONS, fullPcpusOnly: true } } }); // prettier-ignore
    const decision = POLICIES.static(snapshot, { count: 3, podCount: 3, memoryBytes: 0 });
    expect(decision).toMatchObject({ kind: 'refuse', code: 'FAILED_PRECONDITION' });
  });
});

describe('two NUMA nodes, with 2 fast CPUs and 4 slow ones, and with 6 fast CPUs and 2 slow ones', () => {
  const topology = buildTopology({
    cpus: Array.from({ length: 14 }, (_, id) => ({
      id,
      core: id,
      socket: 0,
      numaNode: id < 6 ? 0 : 1,
      uncoreCache: 0,
    })),
    coreKinds: [
      { name: 'performance', cpus: cpus('0-1,6-11') },
      { name: 'efficiency', cpus: cpus('2-5,12-13') },
    ],
  });

  test.each<[string, TopologyManagerPolicy, number, string]>([
    ['one kind on the second node, although the first has as many CPUs', 'restricted', 6, '6-11'],
    ['one kind on the second node', 'single-numa-node', 5, '6-10'],
    ['one kind on the second node', 'best-effort', 5, '6-10'],
    ['both kinds of one node, since one kind has room on two nodes only', 'best-effort', 7, '6-12'],
    ['one kind on two nodes, since no node has room', 'best-effort', 8, '0-1,6-11'],
  ])('a container gets %s: %s, %i CPUs', (_what, policy, count, want) => {
    const options = { preferClosestNumaNodes: false, maxAllowableNumaNodes: 8 };
    const snapshot = bareSnapshot(topology, {
      free: topology.online.minus(cpus('13')),
      settings: { minSharedCpus: 0, topologyManager: { policy, scope: 'container', options } },
    });
    const decision = POLICIES.static(snapshot, { count, podCount: count, memoryBytes: 0 });
    expect(decision.kind === 'pin' && decision.cpus.toString()).toBe(want);
  });
});

describe("the scheduler's choice of 2 CPUs of each of two nodes, of which one has a single fast CPU", () => {
  const topology = buildTopology({
    cpus: Array.from({ length: 8 }, (_, id) => ({ id, core: id, socket: 0, numaNode: id >> 2, uncoreCache: 0 })),
    coreKinds: [
      { name: 'performance', cpus: cpus('0-1,4') },
      { name: 'efficiency', cpus: cpus('2-3,5-7') },
    ],
  });
  const chosen = new Map([
    [0, 2],
    [1, 2],
  ]);

  test.each([
    ['static', { restOfResult: chosen }],
    ['exclusive', { scheduled: chosen }],
  ] as const)('policy %s gives one kind on both', (policy, choice) => {
    const snapshot = bareSnapshot(topology, { free: topology.online, settings: { minSharedCpus: 0 } });
    const decision = POLICIES[policy](snapshot, { count: 4, podCount: 4, memoryBytes: 0, ...choice });
    expect(decision.kind === 'pin' && decision.cpus.toString()).toBe('2-3,5-6');
  });
});

test.each([
  [1, '8'],
  [6, '8-13'],
  [8, '0-1,8-13'],
])('%i CPUs are reserved on the slowest kind first', (count, want) => {
  const chosen = chooseReserved(HYBRID, NO_OPTIONS, { count });
  expect(chosen.ok && chosen.reserved.toString()).toBe(want);
});

describe('random hybrid machines', () => {
  /** Fast cores of two threads and slow ones of one, in one to three NUMA nodes; some threads are offline. */
  function hybridMachine(random: Random): Topology {
    const all: CpuInfo[] = [];
    const fast: number[] = [];
    const cores = random.int(3, 10);
    const nodes = random.int(1, 3);
    for (let core = 0; core < cores; core++) {
      const isFast = random.chance(0.5);
      for (let thread = isFast && random.chance(0.9) ? 2 : 1; thread > 0; thread--) {
        if (isFast) fast.push(all.length);
        const numaNode = core % nodes;
        all.push({ id: all.length, core, socket: 0, numaNode, uncoreCache: core >> 1 });
      }
    }
    const performance = CpuSet.of(fast);
    return buildTopology({
      cpus: all,
      coreKinds: [
        { name: 'performance', cpus: performance },
        { name: 'efficiency', cpus: CpuSet.of(all.map(({ id }) => id)).minus(performance) },
      ],
    });
  }

  function randomSnapshot(random: Random): Snapshot {
    const topology = hybridMachine(random);
    const online = topology.online.toArray();
    const owner = new Map(online.map((cpu) => [cpu, random.pick(['free', 'free', 'free', 'idle', 'other'])]));
    const cpusOf = (name: string): CpuSet => CpuSet.of(online.filter((cpu) => owner.get(cpu) === name && cpu > 0));
    const policy = random.pick(['none', 'none', 'best-effort', 'restricted', 'single-numa-node'] as const);
    const settings: Partial<Settings> = {
      reserved: CpuSet.of([0]),
      minSharedCpus: random.int(1, 3),
      options: {
        ...NO_OPTIONS,
        ...random.pick<Partial<StaticPolicyOptions>>([
          {},
          {},
          { fullPcpusOnly: true },
          { fullPcpusOnly: true },
          { preferAlignCpusByUncorecache: true },
          { distributeCpusAcrossNuma: true },
          { distributeCpusAcrossCores: true },
        ]),
      },
      topologyManager: {
        policy,
        scope: 'container',
        options: { preferClosestNumaNodes: false, maxAllowableNumaNodes: 8 },
      },
    };
    const idle = random.chance(0.5) ? cpusOf('idle') : CpuSet.empty;
    return bareSnapshot(topology, {
      free: cpusOf('free'),
      idleInPod: idle,
      ownedByPod: idle,
      sharedPool: cpusOf('free').union(CpuSet.of([0])),
      settings,
    });
  }

  test('what is given is free, as many as asked for, whole where that is demanded, and of one kind if one kind has room', () => {
    const seen = { given: 0, mixed: 0, unlike: 0, refused: 0, aligned: 0 };
    for (let seed = 1; seed <= 6_000; seed++) {
      const random = createRandom(seed);
      const snapshot = randomSnapshot(random);
      const { topology, settings, free, idleInPod } = snapshot;
      const { fullPcpusOnly } = settings.options;
      const count = random.int(1, 8);
      const decision = POLICIES.static(snapshot, { count, podCount: count, memoryBytes: 0 });
      const roomIn = (within: CpuSet): number =>
        mostIn(
          createRoom(snapshot, {
            held: idleInPod.intersect(within),
            free: free.intersect(within),
            inWholeCores: fullPcpusOnly,
            leavesPool: true,
          }),
        );
      if (decision.kind !== 'pin') {
        seen.refused++;
        expect({ seed, kind: decision.kind, code: decision.kind === 'refuse' && decision.code }).not.toMatchObject({ code: 'INTERNAL' }); // prettier-ignore
        const isFree = !fullPcpusOnly && settings.topologyManager!.policy === 'none';
        if (isFree) expect({ seed, fits: roomIn(topology.online) >= count }).toEqual({ seed, fits: false });
        continue;
      }
      seen.given++;
      const { cpus: given } = decision;
      expect({ seed, size: given.size, isFree: given.isSubsetOf(free.union(idleInPod)) }).toEqual({ seed, size: count, isFree: true }); // prettier-ignore
      if (fullPcpusOnly) expect({ seed, whole: keepWholeCores(topology, given).size }).toEqual({ seed, whole: count });
      const nodesOf = countNodes(topology, given);
      if (settings.topologyManager!.policy === 'single-numa-node') {
        seen.aligned++;
        expect({ seed, nodesOf }).toEqual({ seed, nodesOf: 1 });
      }
      if (kindsOf(topology, given).length === 1) continue;
      seen.mixed++;
      if (settings.topologyManager!.policy !== 'none') {
        for (const kind of topology.coreKinds) {
          const [ofKind, idleOfKind] = [free.intersect(kind.cpus), idleInPod.intersect(kind.cpus)];
          const alone = { ...snapshot, free: ofKind, idleInPod: idleOfKind, ownedByPod: idleOfKind };
          const other = POLICIES.static(alone, { count, podCount: count, memoryBytes: 0 });
          const nodes = other.kind === 'pin' ? countNodes(topology, other.cpus) : Infinity;
          expect({ seed, isWorse: nodes > nodesOf }).toEqual({ seed, isWorse: true });
        }
        continue;
      }
      // Whole cores of one kind may be of the wrong size, so only without them the room decides.
      if (!fullPcpusOnly)
        for (const kind of topology.coreKinds)
          expect({ seed, fits: roomIn(kind.cpus) >= count }).toEqual({ seed, fits: false });
      else seen.unlike++;
    }
    expect(Math.min(seen.given, seen.refused) > 1_000 && Math.min(seen.mixed, seen.unlike, seen.aligned) > 50).toBe(
      true,
    );
  });
});
