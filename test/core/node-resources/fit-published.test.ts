import { countNodeResources } from '../../../src/core/node-resources/node-resources';
import { findObstacles, type ContainerWish, type PublishedRoom } from '../../../src/core/node-resources/fit-published';
import type { NodeView } from '../../../src/core/model/node-view';
import { POLICIES } from '../../../src/core/policy';
import { threadsPerCore } from '../../../src/core/topology';
import { snapshotFor } from '../../../src/core/transition';
import { createRandom } from '../../support/random';
import { build } from '../../cli/topology/machines';
import { NodeDriver } from '../transition/node-driver';

const PLAIN: PublishedRoom = {
  zones: [
    { capacity: 8, available: 5 },
    { capacity: 8, available: 3 },
  ],
  cpusPerCore: 1,
  topologyPolicy: 'none',
  topologyScope: 'container',
};
const app = (count: number, name = 'a', policy: ContainerWish['policy'] = 'static'): ContainerWish => {
  return { name, kind: 'app', policy, count };
};

test.each<[string, Partial<PublishedRoom>, ContainerWish[], string[]]>([
  ['all that is free', {}, [app(8)], []],
  ['more than is free', {}, [app(9)], ['9 CPUs are needed, 8 free']],
  ['several containers together', {}, [app(4), app(5, 'b')], ['9 CPUs are needed, 8 free']],
  ['init containers before the others', {}, [{ ...app(8), kind: 'init' }, app(8, 'b')], []],
  ['half a core', { cpusPerCore: 2 }, [app(3)], ['whole cores of 2 CPUs are given, and a: 3 is no multiple of it']],
  ['a policy without whole cores', { cpusPerCore: 2 }, [app(3, 'a', 'immovable')], []],
  ['followers of NUMA nodes need none', {}, [app(99, 'a', 'numa')], []],
  [
    'more than one zone has',
    { topologyPolicy: 'single-numa-node' },
    [app(6)],
    ['a: 6 CPUs in one NUMA node are needed, the most is 5'],
  ],
  ['more than a zone has, where it only prefers one', { topologyPolicy: 'best-effort' }, [app(6)], []],
  ['restricted, within a zone', { topologyPolicy: 'restricted' }, [app(6)], [expect.stringMatching(/the most is 5/)]],
  ['a container for each zone', { topologyPolicy: 'single-numa-node' }, [app(5), app(3, 'b')], []],
  [
    'two containers that no zone has both of',
    { topologyPolicy: 'single-numa-node' },
    [app(4), app(4, 'b')],
    ["b: no NUMA node has 4 CPUs beside the pod's other containers"],
  ],
  [
    'the pod as a whole',
    { topologyPolicy: 'single-numa-node', topologyScope: 'pod' },
    [app(4), app(2, 'b')],
    ['6 CPUs in one NUMA node are needed, the most is 5'],
  ],
  [
    'the pod as a whole, with the CPUs that other policies give its containers',
    { topologyPolicy: 'single-numa-node', topologyScope: 'pod' },
    [app(4), app(2, 'b', 'exclusive'), app(9, 'c', 'numa')],
    ['6 CPUs in one NUMA node are needed, the most is 5'],
  ],
])('%s', (_name, room, wishes, expected) => {
  expect(findObstacles({ ...PLAIN, ...room }, wishes)).toEqual(expected);
});

function roomOf(view: NodeView): PublishedRoom {
  const { zones, ...rest } = countNodeResources(view);
  return { ...rest, zones: zones.map(({ cpu: { capacity, available } }) => ({ capacity, available })) };
}

/** The engine's decision on a new pod of one container. */
function isGiven(view: NodeView, count: number): boolean {
  const request = { count, podCount: count, memoryBytes: 0 };
  return POLICIES.static(snapshotFor(view, { uid: '' }, ''), request).kind === 'pin';
}

test('for one container it is as the engine decides, on random nodes under random rules', () => {
  const random = createRandom(20261125);
  let [given, refused] = [0, 0];
  for (let i = 0; i < 150; i++) {
    const machine = build(random.int(1, 2), random.int(1, 3), 1, random.int(1, 3), random.int(1, 2));
    const policy = random.pick(['none', 'best-effort', 'restricted', 'single-numa-node'] as const);
    const node = new NodeDriver(machine, {
      reserved: '0',
      options: { fullPcpusOnly: random.chance(0.4) },
      minSharedCpus: random.int(1, 2),
      ...(policy !== 'none' && {
        topologyManager: {
          policy,
          scope: random.pick(['container', 'pod'] as const),
          options: { preferClosestNumaNodes: false, maxAllowableNumaNodes: 8 },
        },
      }),
    });
    for (let pod = random.int(0, 5); pod > 0; pod--)
      node.run(`make p${pod}/a ${random.int(1, 3) * (random.chance(0.5) ? threadsPerCore(machine) : 1)}`);
    const { model } = node;
    const room = roomOf(model);
    for (let count = 1; count <= machine.cpus.length; count++) {
      const isFree = isGiven(model, count);
      const obstacles = findObstacles(room, [app(count)]);
      expect({ i, count, policy, room, isFree }).toEqual({ i, count, policy, room, isFree: obstacles.length === 0 });
      if (isFree) given++;
      else refused++;
    }
  }
  expect(given).toBeGreaterThan(200);
  expect(refused).toBeGreaterThan(200);
});
