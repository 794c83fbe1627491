import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import { NO_OPTIONS } from '../../../src/core/model/settings';
import { POLICIES } from '../../../src/core/policy';
import { buildTopology } from '../../../src/core/topology';
import { bareSnapshot } from './bare-snapshot';

/**
 * Cores of CPUs 0-1, 2-3 and 4-5 in NUMA node 0, of 6-7, 8 and 9-10 in node 1: the second thread of core 8 is offline.
 */
const topology = buildTopology({
  cpus: [0, 0, 2, 2, 4, 4, 6, 6, 8, 9, 9].map((core, id) => {
    const numaNode = id < 6 ? 0 : 1;
    return { id, core, socket: numaNode, numaNode, uncoreCache: numaNode };
  }),
});

interface Case {
  readonly followed?: readonly string[];
  readonly minSharedCpus?: number;
  readonly own?: string;
  readonly taken?: string;
}

function decide(count: number, { followed = [], minSharedCpus = 0, own = '', taken = '' }: Case): string {
  const free = topology.online.minus(parseCpuList(own)).minus(parseCpuList(taken));
  const snapshot = bareSnapshot(topology, {
    free,
    own: parseCpuList(own),
    ownedByPod: parseCpuList(own),
    sharedPool: free,
    followers: {
      sets: followed.map(parseCpuList),
      demand: new Map(),
      ownNodes: CpuSet.empty,
      nodesOfPod: CpuSet.empty,
    },
    settings: { minSharedCpus, options: { ...NO_OPTIONS, fullPcpusOnly: true } },
  });
  const decision = POLICIES.static(snapshot, { count, podCount: count, memoryBytes: 0 });
  if (decision.kind === 'pin') return decision.cpus.toString();
  return `${decision.kind}${decision.kind === 'refuse' ? ` ${decision.code}` : ''}: ${decision.because}`;
}

describe('whole cores of unlike sizes, and a follower that keeps a core', () => {
  test.each<[string, number, Case, string]>([
    ['an even number leaves the small core', 10, { followed: ['6-10'] }, '0-7,9-10'],
    ['an odd number takes the small core and leaves another', 9, { followed: ['6-10'] }, '0-8'],
    ['so it does where the pool has too few for the largest cores', 3, { followed: ['6-10'], minSharedCpus: 8 }, '6-8'],
    ['of two nodes to leave a core on, the one without the small core', 1, { followed: ['0-10', '6-8'] }, '8'],
  ])('%s', (_what, count, given, want) => {
    expect(decide(count, given)).toBe(want);
  });

  test('an odd number is refused as one that does not fit now, when the follower has the only small core', () => {
    expect(decide(11, { followed: ['6-10'] })).toMatch(
      /^refuse RESOURCE_EXHAUSTED: asked for 11 exclusive CPUs, 10 can be given now/,
    );
    expect(decide(3, { followed: ['8'], taken: '6-7,9-10' })).toBe(
      'refuse RESOURCE_EXHAUSTED: asked for 3 exclusive CPUs; the shared pool and the followers of NUMA nodes would keep too few',
    );
  });
});

test('of cores that can be left the one is left that costs the pool most, so that the others suffice', () => {
  // Core 9-10 costs the pool one CPU only, since 9 was the container's own.
  expect(decide(2, { followed: ['0-8,10'], minSharedCpus: 9, own: '9' })).toBe('9-10');
});
