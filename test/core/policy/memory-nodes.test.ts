import type { HugePages } from '../../../src/core/huge-pages';
import type { Settings } from '../../../src/core/model/settings';
import type { Snapshot } from '../../../src/core/policy';
import { chooseMemoryNodes } from '../../../src/core/policy/memory-nodes';
import { buildTopology } from '../../../src/core/topology';
import { cpus, NodeDriver, settingsWith } from '../transition/node-driver';

const GiB = 2 ** 30;

/**
 * Nodes 0 and 1 with CPUs 0-3 and 4-7 and 8 GiB each, 2 with 8 GiB alone and nearer to 0 than 1 is, 3 with CPUs 8-9 and
 * no memory.
 */
const MACHINE = buildTopology({
  cpus: Array.from({ length: 10 }, (_, id) => ({
    id,
    core: id,
    socket: 0,
    numaNode: [0, 1, 3][id >> 2]!,
    uncoreCache: 0,
  })),
  memoryNodes: [
    { id: 0, memoryBytes: 8 * GiB, distances: new Map([[0, 10], [1, 21], [2, 15], [3, 21]]) },
    { id: 1, memoryBytes: 8 * GiB, distances: new Map([[0, 21], [1, 10], [2, 17], [3, 12]]) },
    { id: 2, memoryBytes: 8 * GiB, distances: new Map([[0, 15], [1, 17], [2, 10], [3, 30]]) },
    { id: 3, memoryBytes: 0, distances: new Map([[0, 21], [1, 12], [2, 30], [3, 10]]) },
  ], // prettier-ignore
});

interface Situation {
  readonly on: string;
  readonly bytes: number;
  readonly hugePages?: HugePages;
  readonly promisedPages?: Readonly<Record<string, readonly (readonly [node: number, bytes: number])[]>>;
  readonly promised?: readonly (readonly [node: number, bytes: number])[];
  /** Nodes without CPUs that may be given; absent = none. */
  readonly allowed?: string;
}

function choose(
  { on, bytes, hugePages, promised = [], promisedPages = {}, allowed = '' }: Situation,
  topology = MACHINE,
  memoryNodes: Settings['memoryNodes'] = 'follow',
) {
  const memoryNodesWithoutCpus = allowed === 'all' ? ('all' as const) : cpus(allowed);
  const settings = settingsWith({ memoryNodes, memoryNodesWithoutCpus });
  const promisedHugePages = new Map(Object.entries(promisedPages).map(([name, pages]) => [name, new Map(pages)]));
  const snapshot = {
    topology,
    settings,
    promisedMemory: new Map(promised),
    promisedHugePages: () => promisedHugePages,
  } as unknown as Snapshot;
  const { mems, because } = chooseMemoryNodes(snapshot, cpus(on), {
    memoryBytes: bytes,
    ...(hugePages && { hugePages }),
  });
  return { mems: mems.toString(), because: because.join('; ') };
}

test.each`
  name                                                       | situation                                                                | mems       | because
  ${'the node of its CPUs'}                                  | ${{ on: '1-2', bytes: GiB }}                                             | ${'0'}     | ${/^memory nodes 0$/}
  ${'no memory limit: the node of its CPUs'}                 | ${{ on: '1-2', bytes: 0, promised: [[0, 8 * GiB]] }}                     | ${'0'}     | ${/^memory nodes 0$/}
  ${'all nodes of its CPUs'}                                 | ${{ on: '3-4', bytes: GiB }}                                             | ${'0-1'}   | ${/^memory nodes 0-1$/}
  ${'exactly what is free'}                                  | ${{ on: '1', bytes: 3 * GiB, promised: [[0, 5 * GiB]] }}                 | ${'0'}     | ${/^memory nodes 0$/}
  ${'one byte more than is free: the nearest node joins'}    | ${{ on: '1', bytes: 3 * GiB + 1, promised: [[0, 5 * GiB]] }}             | ${'0-1'}   | ${/widened: its own nodes have less free than its limit/}
  ${'a node without CPUs joins when it is allowed, as the last'} | ${{ on: '5', bytes: 17 * GiB, allowed: '2' }}                        | ${'0-2'}   | ${/widened/}
  ${'nodes with CPUs go before those without'}               | ${{ on: '5', bytes: 9 * GiB, allowed: 'all' }}                           | ${'0-1'}   | ${/widened: its own nodes have less free than its limit\)/}
  ${'all nodes without CPUs are allowed'}                    | ${{ on: '1', bytes: 17 * GiB, allowed: 'all' }}                          | ${'0-2'}   | ${/widened: its own nodes have less free than its limit; 2 without CPUs/}
  ${'too little memory on all nodes: all that may be given'} | ${{ on: '1', bytes: 99 * GiB }}                                          | ${'0-1'}   | ${/widened/}
  ${'a node that is promised twice over has 0 bytes free'}   | ${{ on: '3-4', bytes: 8 * GiB, promised: [[0, 12 * GiB]] }}          | ${'0-1'}   | ${/^memory nodes 0-1$/}
  ${'a node without memory: the nearest node with memory'}   | ${{ on: '8', bytes: GiB }}                                               | ${'1'}     | ${/its own nodes have no memory; these are the nearest/}
`('$name', ({ situation, mems, because }: { situation: Situation; mems: string; because: RegExp }) => {
  expect(choose(situation)).toEqual({ mems, because: expect.stringMatching(because) });
}); // prettier-ignore

describe('memory of devices', () => {
  const near = (...distances: readonly number[]): Map<number, number> =>
    new Map(distances.map((distance, id) => [id, distance]));
  /** Node 0 has CPUs and 8 GiB, 1 is a GPU, 2 a slow and 3 a fast node without CPUs, the slow one nearer. */
  const devices = buildTopology({
    cpus: Array.from({ length: 4 }, (_, id) => ({ id, core: id, socket: 0, numaNode: 0, uncoreCache: 0 })),
    memoryNodes: [
      { id: 0, memoryBytes: 8 * GiB, distances: near(10, 11, 12, 20), cpus: cpus('0-3') },
      { id: 1, memoryBytes: 8 * GiB, distances: near(11, 10, 20, 20), cpus: cpus(''), isOfGpu: true },
      { id: 2, memoryBytes: 8 * GiB, distances: near(12, 20, 10, 20), cpus: cpus(''), tier: 22 },
      { id: 3, memoryBytes: 8 * GiB, distances: near(20, 20, 20, 10), cpus: cpus(''), tier: 4 },
    ],
  });

  test.each([
    ['none is given unless it is allowed', 99, '', '0'],
    ['the fast tier goes first, however far it is', 9, 'all', '0,3'],
    ['then the slow one', 99, 'all', '0,2-3'],
    ['the memory of a GPU is not given, whoever allows it', 99, '1-2', '0,2'],
  ])('%s', (_name, gib, allowed, mems) => {
    expect(choose({ on: '1', bytes: gib * GiB, allowed }, devices).mems).toBe(mems);
  });

  test('emulated nodes are all local to the CPUs that they list', () => {
    const emulated = buildTopology({
      cpus: Array.from({ length: 4 }, (_, id) => ({ id, core: id, socket: 0, numaNode: 0, uncoreCache: 0 })),
      memoryNodes: [0, 1, 2].map((id) => ({ id, memoryBytes: GiB, distances: near(10, 10, 10), cpus: cpus('0-3') })),
    });
    expect(choose({ on: '1', bytes: GiB }, emulated)).toEqual({ mems: '0-2', because: 'memory nodes 0-2' });
  });
});

test('memory nodes are left alone when they do not follow CPUs, or are not known', () => {
  const left = { mems: '', because: '' };
  expect(choose({ on: '1', bytes: GiB }, MACHINE, 'off')).toEqual(left);
  expect(choose({ on: '1', bytes: GiB }, { ...MACHINE, memoryNodes: [] })).toEqual(left);
});

test('a container that shares again gets all memory nodes', () => {
  const node = new NodeDriver(MACHINE, { memoryNodes: 'follow', reserved: '0,8-9' }).run('make p/a 2');
  expect(node.container('p/a')?.promise?.mems.toString()).toBe('0');
  node.run('resize p/a 0.5');
  expect(node.container('p/a')).toMatchObject({ placement: 'shared' });
  expect(node.container('p/a')?.promise?.mems.toString()).toBe('0-2');
});

test('a container without memory nodes gets none', () => {
  const node = new NodeDriver(MACHINE, { memoryNodes: 'follow', reserved: '0,8-9' }).run('make q/s 0; make p/a 2');
  expect(node.container('q/s')?.promise?.mems.toString()).toBe('');
});

test('the memory of a container counts once, also after a restart', () => {
  const node = new NodeDriver(MACHINE, { memoryNodes: 'follow', reserved: '0,8-9' });
  // 64 MiB each; all of node 0 but 100 MiB is promised to another container.
  node.run('make q/x 1');
  const holder = node.container('q/x')!;
  const resources = { ...holder.resources, memoryLimitBytes: 8 * GiB - 100 * 2 ** 20 };
  node.model.apply({ kind: 'put-container', container: { ...holder, resources } });
  node.run('make p/a 1; make p/b 1');
  const memsOf = (name: string) => node.container(name)?.promise?.mems.toString();
  expect([memsOf('p/a'), memsOf('p/b')]).toEqual(['0', '0-1']);
  node.run('make p/a 1');
  expect(memsOf('p/a')).toBe('0');
});
