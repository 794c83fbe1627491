import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import type { Assignment, AssignmentKind } from '../../../src/core/model/assignment';
import { NodeModel } from '../../../src/core/model/node-model';
import { countNodeResources } from '../../../src/core/node-resources';
import { buildTopology } from '../../../src/core/topology';
import { settingsWith, type Rules } from '../transition/node-driver';

/** Two NUMA nodes of four cores with two threads: 0-3,8-11 and 4-7,12-15; CPU c and c + 8 are one core. */
function machine() {
  return buildTopology({
    cpus: Array.from({ length: 16 }, (_, id) => {
      const node = (id % 8) >> 2;
      return { id, core: id % 8, socket: node, numaNode: node, uncoreCache: node };
    }),
    memoryNodes: [0, 1].map((id) => ({
      id,
      memoryBytes: 8 * 2 ** 30,
      distances: new Map([
        [0, id === 0 ? 10 : 21],
        [1, id === 1 ? 10 : 21],
      ]),
    })),
  });
}

function hold(kind: AssignmentKind, cpus: string, podUid = 'p', containerId: string | null = 'c'): Assignment {
  return {
    podUid,
    podNamespace: 'ns',
    podName: podUid,
    containerName: cpus,
    kind,
    cpus: kind === 'numa' ? CpuSet.empty : parseCpuList(cpus),
    ...(kind === 'numa' && { nodes: parseCpuList(cpus) }),
    mems: CpuSet.empty,
    requested: 1,
    containerId,
    quotaLifted: false,
    rules: { policy: kind, options: [], reserved: CpuSet.empty },
    because: '',
    since: '',
  };
}

function count(assignments: readonly Assignment[], rules: Rules = {}, annotations: Record<string, string> = {}) {
  const model = new NodeModel(machine(), settingsWith({ reserved: '0,8', ...rules }));
  for (const assignment of assignments) model.apply({ kind: 'put-assignment', assignment });
  const pod = { sandboxId: 's', uid: 'p', namespace: 'ns', name: 'p', annotations, cgroupParent: '', stopped: false };
  model.apply({ kind: 'put-pod', pod });
  return countNodeResources(model);
}

test.each<[string, Assignment[], Rules, [number, number]]>([
  ['an empty node has all but the reserved', [], {}, [6, 8]],
  ['exclusive CPUs are taken from their zone', [hold('static', '1-2,9-10')], {}, [2, 8]],
  ['CPUs over both zones', [hold('exclusive', '3-4')], {}, [5, 7]],
  ['idle CPUs stay with their pod', [hold('static', '1,9', 'p', null)], {}, [4, 8]],
  ['nobody else gets what is immovable', [hold('immovable', '4-5')], {}, [6, 6]],
  ['who follows a node takes nothing away', [hold('numa', '0')], {}, [6, 8]],
  [
    'torn cores do not count where only whole ones are given',
    [hold('static', '1')],
    { options: { fullPcpusOnly: true } },
    [4, 8],
  ],
  ['the floor of the shared pool counts', [hold('static', '1-7,9-13')], { minSharedCpus: 3 }, [0, 1]],
])('%s', (_name, assignments, rules, available) => {
  const { zones } = count(assignments, rules);
  expect(zones.map(({ cpu }) => cpu.available)).toEqual(available);
  expect(zones.map(({ id, cpu }) => [id, cpu.capacity, cpu.allocatable])).toEqual([
    [0, 8, 6],
    [1, 8, 8],
  ]);
});

test.each<[string, Rules, string]>([
  ['what is refused is said', { topologyManager: tm('single-numa-node') }, 'single-numa-node'],
  [
    'what is shared instead is not called refused',
    { topologyManager: tm('single-numa-node'), onInsufficientCpu: 'share' },
    'best-effort',
  ],
  ['restricted likewise', { topologyManager: tm('restricted'), onInsufficientCpu: 'share' }, 'best-effort'],
  [
    'nobody is pinned, so nobody is refused',
    { topologyManager: tm('single-numa-node'), cpuManagerPolicy: 'none' },
    'none',
  ],
  ['no topology manager', {}, 'none'],
])('policy: %s', (_name, rules, policy) => {
  expect(count([], rules).topologyPolicy).toBe(policy);
});

function tm(policy: 'single-numa-node' | 'restricted') {
  return { policy, scope: 'pod' as const, options: { preferClosestNumaNodes: false, maxAllowableNumaNodes: 8 } };
}

test('memory is told where it follows, less what was promised', () => {
  expect(count([]).zones[0]?.memory).toBeUndefined();
  const { zones } = count([], { memoryNodes: 'follow' });
  expect(zones[0]?.memory).toEqual({ capacity: 2 ** 33, allocatable: 2 ** 33, available: 2 ** 33 });
});

test('CPUs of pods that no scheduler announced are told apart', () => {
  const result = JSON.stringify([{ name: 'node0', type: 'Node', resources: { capacity: { cpu: '2' } } }]);
  const held = [hold('static', '1,9'), hold('static', '4', 'other')];
  expect(count(held).zones.map(({ unannounced }) => unannounced)).toEqual([2, 1]);
  const announced = count(held, {}, { 'topology.crane.io/topology-result': result });
  expect(announced.zones.map(({ unannounced }) => unannounced)).toEqual([0, 1]);
  const nonsense = count(held, {}, { 'topology.crane.io/topology-result': '{' });
  expect(nonsense.zones.map(({ unannounced }) => unannounced)).toEqual([2, 1]);
});
