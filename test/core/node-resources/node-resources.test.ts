import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import type { Assignment, AssignmentKind } from '../../../src/core/model/assignment';
import { NodeModel } from '../../../src/core/model/node-model';
import type { PodSpec } from '../../../src/core/model/pod-spec';
import { countNodeResources } from '../../../src/core/node-resources/node-resources';
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

/** `annotations`, `cpus`: of the spec of pod p. */
function count(
  assignments: readonly Assignment[],
  rules: Rules = {},
  annotations: Record<string, string> = {},
  cpus = 2,
) {
  const model = new NodeModel(machine(), settingsWith({ reserved: '0,8', ...rules }));
  for (const assignment of assignments) model.apply({ kind: 'put-assignment', assignment });
  const amounts = { requestMilliCpu: cpus * 1_000, limitMilliCpu: cpus * 1_000 };
  const containers = [{ name: 'a', kind: 'app', ended: false, ...amounts }] as const;
  const names = { uid: 'p', namespace: 'ns', name: 'p' };
  model.apply({ kind: 'put-spec', spec: { ...names, annotations, qos: 'Guaranteed', finished: false, containers } });
  return countNodeResources(model);
}

test.each<[string, Assignment[], Rules, [number, number]]>([
  ['an empty node has all but the reserved', [], {}, [6, 8]],
  ['exclusive CPUs are taken from their zone', [hold('static', '1-2,9-10')], {}, [2, 8]],
  ['CPUs over both zones', [hold('exclusive', '3-4')], {}, [5, 7]],
  ['idle CPUs stay with their pod', [hold('static', '1,9', 'p', null)], {}, [4, 8]],
  ['immovable CPUs are not available', [hold('immovable', '4-5')], {}, [6, 6]],
  ['a numa container keeps the last CPU of its node', [hold('numa', '0')], {}, [5, 8]],
  [
    'partly used cores do not count under full-pcpus-only',
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
  ['a topology manager that refuses is published', { topologyManager: tm('single-numa-node') }, 'single-numa-node'],
  [
    'one whose refusals become shared containers is best-effort',
    { topologyManager: tm('single-numa-node'), onInsufficientCpu: 'share' },
    'best-effort',
  ],
  [
    'restricted with share is best-effort too',
    { topologyManager: tm('restricted'), onInsufficientCpu: 'share' },
    'best-effort',
  ],
  [
    'under policy none no pod is refused',
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

test('memory is always published, and all of it is available', () => {
  const all = { capacity: 2 ** 33, allocatable: 2 ** 33, available: 2 ** 33 };
  expect(count([]).zones.map(({ memory }) => memory)).toEqual([all, all]);
  expect(count([], { memoryNodes: 'follow' }).zones.map(({ memory }) => memory)).toEqual([all, all]);
});

test('unknown memory is left out', () => {
  const topology = buildTopology({ cpus: machine().cpus });
  expect(countNodeResources(new NodeModel(topology, settingsWith())).zones[0]?.memory).toBeUndefined();
});

test('all zones together offer no more than the shared pool can lose', () => {
  // 5 CPUs may be lost; zone 0 has 3 free, zone 1 has 4
  const held = [hold('static', '1-3'), hold('static', '4-7')];
  const available = (rules: Rules) => count(held, rules).zones.map(({ cpu }) => cpu.available);
  expect(available({ minSharedCpus: 4 })).toEqual([1, 4]);
  expect(available({ minSharedCpus: 5 })).toEqual([0, 4]);
  expect(available({ minSharedCpus: 6 })).toEqual([0, 3]);
  expect(available({ minSharedCpus: 9 })).toEqual([0, 0]);
  expect(available({ minSharedCpus: 20 })).toEqual([0, 0]);
});

test('under full-pcpus-only zones offer whole cores beside the floor of the pool', () => {
  const rules = { options: { fullPcpusOnly: true }, minSharedCpus: 3 };
  expect(count([], rules).zones.map(({ cpu }) => cpu.available)).toEqual([4, 8]);
});

test('the last CPU of a numa set is not offered', () => {
  expect(count([hold('numa', '0'), hold('static', '2-3,9-11')]).zones.map(({ cpu }) => cpu.available)).toEqual([0, 8]);
});

test.each<[string, Rules['cpuManagerPolicy'], string]>([
  ['static', 'static', 'single-numa-node'],
  ['exclusive', 'exclusive', 'single-numa-node'],
  ['immovable', 'immovable', 'none'],
  ['numa', 'numa', 'none'],
])(
  'CPU manager policy %s: a topology policy is published only with exclusive CPUs',
  (_name, cpuManagerPolicy, policy) => {
    const rules: Rules = { topologyManager: tm('single-numa-node'), ...(cpuManagerPolicy && { cpuManagerPolicy }) };
    expect(count([], rules).topologyPolicy).toBe(policy);
  },
);

describe('CPUs that crane-scheduler does not count', () => {
  const resultOn = (name: string, cpu: string) => ({
    'topology.crane.io/topology-result': JSON.stringify([{ name, type: 'Node', resources: { capacity: { cpu } } }]),
  });
  const held = [hold('static', '1,9'), hold('static', '4', 'other')];
  const unannounced = (annotations: Record<string, string>) =>
    count(held, {}, annotations).zones.map((zone) => zone.unannounced);

  test.each<[string, Record<string, string>, [number, number]]>([
    ['no annotation', {}, [2, 1]],
    ['as much as it holds', resultOn('node0', '2'), [0, 1]],
    ['a part of it', resultOn('node0', '1'), [1, 1]],
    ['more than it is entitled to', resultOn('node0', '5'), [2, 1]],
    ['in another zone', resultOn('node1', '2'), [2, 1]],
    ['under a name that is not the zone’s', resultOn('zone0', '2'), [2, 1]],
    ['under another spelling of the name', resultOn('node00', '2'), [2, 1]],
    ['in a form that is not read here', resultOn('node0', '1500m'), [2, 1]],
    ['a result that is not JSON', { 'topology.crane.io/topology-result': '{' }, [2, 1]],
  ])('announced: %s', (_name, annotations, want) => {
    expect(unannounced(annotations)).toEqual(want);
  });

  const containers = [{ name: 'a', kind: 'app', ended: false, requestMilliCpu: 2_000 }] as const;
  const spec = { uid: 'p', namespace: 'ns', name: 'p', qos: 'Guaranteed', finished: false, containers } as const;
  test.each<[string, Partial<PodSpec>, number]>([
    ['the API server’s annotations count, not those that the sandbox was made with', {}, 2],
    ['the API server’s annotations count before the runtime has them', { annotations: resultOn('node0', '2') }, 0],
    ['the annotations of a finished pod do not count', { annotations: resultOn('node0', '2'), finished: true }, 2],
    ['the annotations of another pod do not count', { annotations: resultOn('node0', '2'), uid: 'q', name: 'q' }, 2],
  ])('%s', (_name, more, want) => {
    const model = new NodeModel(machine(), settingsWith({ reserved: '0,8' }));
    model.apply({ kind: 'put-assignment', assignment: held[0]! });
    const annotations = resultOn('node0', '2');
    model.apply({
      kind: 'put-pod',
      pod: { sandboxId: 's', uid: 'p', namespace: 'ns', name: 'p', annotations, cgroupParent: '', stopped: false },
    });
    model.apply({ kind: 'set-spec-source', source: { hasReported: true, awaited: new Set() } });
    model.apply({ kind: 'put-spec', spec: { ...spec, annotations: {}, ...more } });
    expect(countNodeResources(model).zones[0]?.unannounced).toBe(want);
  });

  test('a set that containers of a pod share is counted once', () => {
    const twice = [hold('exclusive', '1,9', 'p', 'a'), { ...hold('exclusive', '1,9', 'p', 'b'), containerName: 'b' }];
    expect(count(twice).zones[0]?.unannounced).toBe(2);
  });

  test('the floor of the pool is withheld in a zone that it counts as free', () => {
    const withheld = (annotations: Record<string, string>) =>
      count([], { minSharedCpus: 4 }, annotations, 6).zones.map((zone) => zone.withheld);
    expect(withheld({})).toEqual([2, 0]);
    // all of zone 0 is planned for a pod, so nothing can be kept there
    expect(withheld(resultOn('node0', '6'))).toEqual([0, 2]);
    // a result that is not followed blocks nothing
    expect(withheld(resultOn('node0', '600'))).toEqual([2, 0]);
  });

  test('half cores are withheld under static with full-pcpus-only, where containers get whole cores only', () => {
    const rules: Rules = { options: { fullPcpusOnly: true } };
    const ofRules = (more: Rules) => {
      const { zones, rules: published } = count([hold('static', '1')], more);
      const { cpusPerCore, policy } = published;
      return [zones.map((zone) => zone.withheld), cpusPerCore, policy];
    };
    expect(ofRules(rules)).toEqual([[1, 0], 2, 'static']);
    expect(ofRules({ ...rules, cpuManagerPolicy: 'exclusive' })).toEqual([[0, 0], 2, 'exclusive']);
    expect(ofRules({})).toEqual([[0, 0], 1, 'static']);
  });
});
