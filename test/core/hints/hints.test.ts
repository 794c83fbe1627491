import { align } from '../../../src/core/hints/align';
import { hintCpus, hintMemory } from '../../../src/core/hints/providers';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import { NO_OPTIONS } from '../../../src/core/model/settings';
import { NO_TOPOLOGY_MANAGER_OPTIONS } from '../../../src/core/options/topology-manager-options';
import { buildTopology } from '../../../src/core/topology';
import { listHints, tablesOf } from './as-list';
import type { ProviderHints } from './one-by-one';
import { cpusOf } from '../topology/arbitrary-machine';

const GiB = 1024 ** 3;
const shape = { coresPerCache: 4, numbering: 'adjacent', threads: 2 } as const;

/** Two sockets of two nodes of two cores: CPUs 0-3, 4-7, 8-11, 12-15; 4 GiB on each node. */
const fourNodes = buildTopology({
  cpus: cpusOf({ ...shape, sockets: 2, nodesPerSocket: 2, coresPerNode: 2 }),
  memoryNodes: [0, 1, 2, 3].map((id) => ({
    id,
    memoryBytes: 4 * GiB,
    distances: new Map([0, 1, 2, 3].map((to) => [to, to === id ? 10 : (to ^ id) === 3 ? 12 : 21])),
  })),
});

function hintsOf(count: number, free: string, more: { reusable?: string; alignBySocket?: boolean } = {}) {
  const { reusable = '', alignBySocket = false } = more;
  const hints = hintCpus({
    topology: fourNodes,
    options: { ...NO_OPTIONS, alignBySocket },
    count,
    available: parseCpuList(free),
    reusable: parseCpuList(reusable),
  });
  return (
    hints &&
    listHints(hints)
      .map(({ mask, preferred }) => `${mask!.toString(2).padStart(4, '0')}${preferred ? '!' : ''}`)
      .join(' ')
  );
}

test.each([
  ['a container of the shared pool has no opinion', 0, '0-15', {}, null],
  ['one node holds four CPUs', 4, '0-3', {}, '0001! 0011 0101 0111 1001 1011 1101 1111'],
  ['a fragmented machine prefers nothing', 3, '0-1,4-5', {}, '0011 0111 1011 1111'],
  ['too few CPUs fit nowhere', 5, '0-3', {}, ''],
  ['five CPUs need two nodes at best', 5, '0-7', {}, '0011! 0111 1011 1111'],
  [
    'with align-by-socket all nodes of one socket are preferred too',
    2,
    '4-5',
    { alignBySocket: true },
    '0010! 0011! 0110 0111 1010 1011 1110 1111',
  ],
  [
    'idle CPUs of the pod have to be taken over',
    2,
    '0-15',
    { reusable: '8' },
    '0100! 0101 0110 0111 1100 1101 1110 1111',
  ],
  [
    'a container that has its CPUs fits where they are',
    2,
    '',
    { reusable: '12-13' },
    '1000! 1001 1010 1011 1100 1101 1110 1111',
  ],
])('%s', (_name, count, free, more, want) => {
  expect(hintsOf(count, free, more)).toBe(want);
});

test.each([
  ['no request has no opinion', 0, undefined, null],
  ['memory of one node', 4 * GiB, undefined, [1, 2, 4, 8]],
  ['memory of two nodes', 5 * GiB, undefined, [3, 5, 6, 9, 10, 12]],
  ['a node that is used up', 4 * GiB, new Map([[0, 0]]), [2, 4, 8]],
  ['more free than a node has counts as what it has', 17 * GiB, new Map([[0, 64 * GiB]]), []],
])('memory: %s', (_name, bytes, freeBytes, preferred) => {
  const hints = hintMemory({ topology: fourNodes, bytes, ...(freeBytes && { freeBytes }) });
  const masks = hints && listHints(hints).flatMap((hint) => (hint.preferred ? [hint.mask] : []));
  expect(masks).toEqual(preferred);
});

describe('memory that is local without being on the node', () => {
  /** Nodes 0-3 of one CPU each and no memory; 4-6 have 4 GiB: 4 near node 0, 5 near node 1, 6 near nodes 2 and 3. */
  const distances = [
    [11, 20, 30],
    [20, 11, 30],
    [30, 30, 11],
    [30, 30, 11],
  ];
  const cpuOnly = buildTopology({
    cpus: [0, 1, 2, 3].map((id) => ({ id, core: id, socket: 0, numaNode: id, uncoreCache: 0 })),
    memoryNodes: [
      ...[0, 1, 2, 3].map((id) => ({ id, memoryBytes: 0, distances: new Map([[id, 10]]) })),
      ...[4, 5, 6].map((id) => ({
        id,
        memoryBytes: 4 * GiB,
        distances: new Map(distances.map((row, node) => [node, row[id - 4]!])),
      })),
    ],
  });
  const hints = (bytes: number): string =>
    listHints(hintMemory({ topology: cpuOnly, bytes })!)
      .map(({ mask, preferred }) => `${mask!.toString(2).padStart(4, '0')}${preferred ? '!' : ''}`)
      .join(' ');

  test('each node has that of its nearest memory', () => {
    expect(hints(4 * GiB)).toBe('0001! 0010! 0011 0100! 0101 0110 0111 1000! 1001 1010 1011 1100 1101 1110 1111');
  });

  test('what two nodes have together counts once', () => {
    expect(hints(5 * GiB)).toBe('0011! 0101! 0110! 0111 1001! 1010! 1011 1101 1110 1111');
  });

  test('a strict policy refuses nothing that fits there', () => {
    const cpu = hintCpus({
      topology: cpuOnly,
      options: NO_OPTIONS,
      count: 1,
      available: parseCpuList('0-3'),
      reusable: CpuSet.empty,
    });
    const memory = hintMemory({ topology: cpuOnly, bytes: GiB });
    for (const policy of ['restricted', 'single-numa-node'] as const) {
      const decision = align({
        topology: cpuOnly,
        policy,
        options: NO_TOPOLOGY_MANAGER_OPTIONS,
        providers: [{ cpu }, { memory }],
      });
      expect(decision).toMatchObject({ kind: 'accept', preferred: true });
    }
  });
});

test('unknown memory gives no hints', () => {
  expect(hintMemory({ topology: { ...fourNodes, memoryNodes: [] }, bytes: GiB })).toBeNull();
});

function alignWith(
  policy: 'none' | 'best-effort' | 'restricted' | 'single-numa-node',
  providers: ProviderHints[],
  closest = false,
) {
  const options = { ...NO_TOPOLOGY_MANAGER_OPTIONS, preferClosestNumaNodes: closest };
  return align({ topology: fourNodes, policy, options, providers: providers.map((provider) => tablesOf(provider, 4)) });
}

const node = (mask: number, preferred = true) => ({ mask, preferred });

test('the policy none does not look at hints', () => {
  expect(alignWith('none', [{ cpu: [] }])).toMatchObject({ kind: 'accept', preferred: true });
});

test('best-effort accepts what is not preferred', () => {
  const got = alignWith('best-effort', [{ cpu: [node(3)] }, { memory: [node(2)] }]);
  expect(got).toMatchObject({ kind: 'accept', preferred: false, nodes: CpuSet.of([1]) });
});

test('the closest of two pairs of nodes wins when asked for', () => {
  const pairs = [{ cpu: [node(0b0011), node(0b1001)] }];
  expect(alignWith('restricted', pairs)).toMatchObject({ nodes: CpuSet.of([0, 1]) });
  expect(alignWith('restricted', pairs, true)).toMatchObject({ nodes: CpuSet.of([0, 3]) });
});

test.each([
  ['restricted', [{ cpu: [] }], 'no NUMA nodes together have enough cpu', undefined],
  [
    'restricted',
    [{ cpu: [node(3, false)] }],
    'cpu does not fit into the few NUMA nodes that an empty machine would need',
    '0-1',
  ],
  [
    'restricted',
    [{ cpu: [node(1), node(3, false)] }, { memory: [node(2), node(3, false)] }],
    'cpu and memory do not fit into the same NUMA nodes',
    '0-1',
  ],
  ['single-numa-node', [{ cpu: [node(3)] }], 'cpu does not fit into one NUMA node', '0-1'],
  ['single-numa-node', [{ cpu: [node(4), node(6)] }, null], 'accepted', '2'],
  [
    'single-numa-node',
    [{ cpu: [node(1)] }, { memory: [node(8)] }],
    'cpu and memory do not fit into the same NUMA node',
    '0,3',
  ],
] as const)('%s and %j: %s', (policy, providers, constraint, nearest) => {
  const got = alignWith(policy, [...providers]);
  if (got.kind === 'accept') {
    expect(['accepted', got.nodes?.toString()]).toEqual([constraint, nearest]);
    return;
  }
  expect(got.because).toContain(`topology-manager-policy ${policy}: ${constraint}; `);
  expect(/; nearest: NUMA nodes? ([\d,-]+), /.exec(got.because)?.[1]).toBe(nearest);
});
