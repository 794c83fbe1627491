import { PLAIN_RULES } from '../../../src/core/fit';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import type { NodeResources } from '../../../src/core/node-resources/node-resources';
import { communityTopology } from '../../../src/kube/node-resource-topology/community-topology';
import { craneTopology } from '../../../src/kube/node-resource-topology/crane-topology';
import type { Report } from '../../../src/kube/node-resource-topology/topology-resource';

const GIB = 2 ** 30;

function reportOf(more: Partial<NodeResources> = {}, rest: Partial<Report> = {}): Report {
  const zone = (id: number, available: number) => ({
    id,
    cpu: { capacity: 8, allocatable: id === 0 ? 7 : 8, available },
    memoryBytes: 4 * GIB,
    reservedCpus: id === 0 ? 1 : 0,
    unannounced: id === 1 ? 2 : 0,
    withheld: id === 1 ? 1 : 0,
    room: { cpus: id === 1 ? 2 : 5, whole: id === 1 ? 2 : 4 },
    roomWithResults: { cpus: id === 1 ? 3 : 5, whole: id === 1 ? 2 : 4 },
    distances: new Map([
      [0, id === 0 ? 10 : 21],
      [1, id === 1 ? 10 : 21],
      [2, 40], // a node without CPUs
    ]),
  });
  return {
    node: { name: 'n1', uid: 'u1', labels: {} },
    kubeletIsStatic: false,
    resources: {
      zones: [zone(0, 5), zone(1, 2)],
      topologyPolicy: 'single-numa-node',
      topologyScope: 'pod',
      pins: true,
      rules: {
        ...PLAIN_RULES,
        topologyPolicy: 'single-numa-node',
        topologyScope: 'pod',
      },
      bound: { now: 6, withResults: 7 },
      reserved: parseCpuList('0'),
      coreKinds: [],
      ...more,
    },
    ...rest,
  };
}

/** The rules by which scheduler-plugins' NodeResourceTopologyMatch reads the object. */
function readAsScheduler(fields: Readonly<Record<string, unknown>>) {
  const { zones, attributes, topologyPolicies } = fields as {
    zones: {
      name: string;
      type: string;
      costs?: { name: string; value: number }[];
      resources: Record<string, string>[];
    }[];
    attributes: { name: string; value: string }[];
    topologyPolicies: unknown;
  };
  if (!Array.isArray(topologyPolicies)) throw new Error('the definition demands topologyPolicies');
  const attribute = (name: string) => attributes.find((each) => each.name === name)?.value;
  return {
    policy: attribute('topologyManagerPolicy'),
    scope: attribute('topologyManagerScope'),
    fingerprint: attribute('nodeTopologyPodsFingerprint'),
    method: attribute('nodeTopologyPodsFingerprintMethod'),
    nodes: zones.flatMap(({ name, type, resources, costs = [] }) => {
      const id = /^node-(\d+)$/.exec(name)?.[1];
      if (type !== 'Node' || id === undefined || Number(id) > 63) return [];
      const cpu = resources.find((resource) => resource['name'] === 'cpu')!;
      return [
        {
          id: Number(id),
          available: Number(cpu['available']),
          costs: costs.map(({ name: to, value }) => `${to} ${value}`),
        },
      ];
    }),
  };
}

describe('the community’s kind', () => {
  test('a scheduler reads every zone with its available CPUs, the policy and the fingerprint', () => {
    const fields = communityTopology.build(reportOf({}, { fingerprint: 'pfp0v001607b76a0e9d3aeb4' }));
    expect(readAsScheduler(fields)).toEqual({
      policy: 'single-numa-node',
      scope: 'pod',
      fingerprint: 'pfp0v001607b76a0e9d3aeb4',
      method: 'all',
      nodes: [
        { id: 0, available: 5, costs: ['node-0 10', 'node-1 21'] },
        { id: 1, available: 2, costs: ['node-0 21', 'node-1 10'] },
      ],
    });
  });

  test('costs name zones that exist only', () => {
    expect(JSON.stringify(communityTopology.build(reportOf()))).not.toContain('node-2');
  });

  test.each<[NodeResources['topologyPolicy'], NodeResources['topologyScope'], string]>([
    ['single-numa-node', 'pod', 'SingleNUMANodePodLevel'],
    ['single-numa-node', 'container', 'SingleNUMANodeContainerLevel'],
    ['restricted', 'container', 'RestrictedContainerLevel'],
    ['best-effort', 'pod', 'BestEffortPodLevel'],
    ['none', 'container', 'None'],
  ])('%s with scope %s is %s in the superseded field', (topologyPolicy, topologyScope, word) => {
    expect(communityTopology.build(reportOf({ topologyPolicy, topologyScope }))['topologyPolicies']).toEqual([word]);
  });

  test('without known pods there is no fingerprint', () => {
    expect(readAsScheduler(communityTopology.build(reportOf()))).toMatchObject({
      fingerprint: undefined,
      method: undefined,
    });
  });

  test('memory is a resource only when memory nodes are decided here', () => {
    const [zone] = reportOf().resources.zones;
    const memory = { capacity: 4 * GIB, allocatable: 4 * GIB, available: GIB };
    const { zones } = communityTopology.build(reportOf({ zones: [{ ...zone!, memory }] })) as {
      zones: { resources: object[] }[];
    };
    expect(zones[0]?.resources).toEqual([
      { name: 'cpu', capacity: '8', allocatable: '7', available: '5' },
      { name: 'memory', capacity: '4294967296', allocatable: '4294967296', available: '1073741824' },
    ]);
  });
});

describe('NUMA nodes with a gap between their ids', () => {
  /** As the scheduler's scoring goes through zones: as many places as zones, and a node's id is its place. */
  const scoreAsScheduler = (fields: Readonly<Record<string, unknown>>): number[] => {
    const { nodes } = readAsScheduler(fields);
    const scores = nodes.map(() => 0);
    for (const { id, available } of nodes) {
      if (id >= scores.length) throw new Error(`index out of range [${id}] with length ${scores.length}`);
      scores[id] = available;
    }
    return scores;
  };

  test.each([[[0, 2]], [[1]], [[1, 3, 6]], [[0, 1, 2, 3]], [[63]], [[]]])(
    '%j: the community’s kind has a zone for each id from 0 on, without CPUs where there is no node',
    (ids) => {
      const [zone] = reportOf().resources.zones;
      const fields = communityTopology.build(reportOf({ zones: ids.map((id) => ({ ...zone!, id })) }));
      const scores = scoreAsScheduler(fields);
      expect(scores).toEqual(Array.from({ length: (ids.at(-1) ?? -1) + 1 }, (_, id) => (ids.includes(id) ? 5 : 0)));
    },
  );

  test("nodes with ids above the scheduler's limit are left out", () => {
    const [zone] = reportOf().resources.zones;
    const fields = communityTopology.build(reportOf({ zones: [0, 1, 64, 70].map((id) => ({ ...zone!, id })) }));
    expect((fields['zones'] as { name: string }[]).map(({ name }) => name)).toEqual(['node-0', 'node-1']);
    expect(scoreAsScheduler(fields)).toEqual([5, 5]);
  });

  test('Crane’s kind has the existing nodes only', () => {
    const [zone] = reportOf().resources.zones;
    const fields = craneTopology.build(reportOf({ zones: [0, 2].map((id) => ({ ...zone!, id })) }));
    expect((fields['zones'] as { name: string }[]).map(({ name }) => name)).toEqual(['node0', 'node2']);
  });
});

describe('with the kubelet’s configuration', () => {
  const kubelet = {
    cpuManagerPolicy: 'none',
    reservedMilliCpu: 500,
    reserved: { memory: 5 * GIB, 'ephemeral-storage': GIB, pid: 100 },
    evictionMemory: GIB,
  } as const;
  const memory = { capacity: 4 * GIB, allocatable: 4 * GIB, available: 3 * GIB };
  const withMemory = (report: Report): Report => ({
    ...report,
    resources: { ...report.resources, zones: report.resources.zones.map((zone) => ({ ...zone, memory })) },
  });

  test('Crane: all resources are reserved, CPU as it is reserved here; memory is taken from the first node on', () => {
    const fields = craneTopology.build(reportOf({}, { kubelet }));
    expect(fields['reserved']).toEqual({
      cpu: '1',
      memory: String(5 * GIB),
      'ephemeral-storage': String(GIB),
      pid: '100',
    });
    const zones = fields['zones'] as { resources: Record<'capacity' | 'allocatable', { memory: string }> }[];
    expect(zones.map(({ resources }) => [resources.capacity.memory, resources.allocatable.memory])).toEqual([
      [String(4 * GIB), '0'],
      [String(4 * GIB), String(3 * GIB)],
    ]);
  });

  test.each<[string, object, [number, number][]]>([
    ['reservations and the threshold of eviction', {}, [[0, 0], [2 * GIB, GIB]]], // prettier-ignore
    ['what is reserved node by node', { reservedMemory: { 1: 3.5 * GIB } }, [[4 * GIB, 3 * GIB], [0.5 * GIB, 0]]], // prettier-ignore
  ])('community: memory is without %s', (_name, more, want) => {
    const fields = communityTopology.build(withMemory(reportOf({}, { kubelet: { ...kubelet, ...more } })));
    const zones = fields['zones'] as { resources: { name: string; allocatable: string; available: string }[] }[];
    const amounts = zones.map(({ resources }) => resources.find(({ name }) => name === 'memory')!);
    expect(amounts.map(({ allocatable, available }) => [Number(allocatable), Number(available)])).toEqual(want);
  });
});

describe('Crane’s kind', () => {
  test('it has zones, both lists of resources, reserved CPUs, and the manager that pins', () => {
    expect(craneTopology.build(reportOf())).toEqual({
      craneManagerPolicy: { cpuManagerPolicy: 'Static', topologyManagerPolicy: 'SingleNUMANodePodLevel' },
      reserved: { cpu: '1' },
      attributes: {
        'go.crane.io/reserved-system-cpus': '0',
        'cpusetd.io/rules': '{"v":1,"policy":"static","topologyManager":"single-numa-node","scope":"pod"}',
        'cpusetd.io/room': '{"cpus":{"0":5,"1":3},"bound":7}',
      },
      zones: [
        {
          name: 'node0',
          type: 'Node',
          costs: [
            { name: 'node0', value: 10 },
            { name: 'node1', value: 21 },
          ],
          resources: {
            capacity: { cpu: '8', memory: '4294967296' },
            allocatable: { cpu: '7', memory: '4294967296' },
            reservedCPUNums: 1,
          },
        },
        {
          name: 'node1',
          type: 'Node',
          costs: [
            { name: 'node0', value: 21 },
            { name: 'node1', value: 10 },
          ],
          resources: {
            capacity: { cpu: '8', memory: '4294967296' },
            // two are held by pods that the scheduler does not know of, one is kept for the shared pool
            allocatable: { cpu: '5', memory: '4294967296' },
            reservedCPUNums: 0,
          },
        },
      ],
    });
  });

  test.each<[string, Partial<Report>, Partial<NodeResources>, string]>([
    ['policy none', {}, { pins: false }, 'None'],
    ['the kubelet pins too', { kubeletIsStatic: true }, {}, 'None'],
    ['we pin', {}, {}, 'Static'],
  ])('%s', (_name, rest, more, word) => {
    expect(craneTopology.build(reportOf(more, rest))['craneManagerPolicy']).toMatchObject({ cpuManagerPolicy: word });
  });

  test.each<[string | undefined, string]>([
    [undefined, 'SingleNUMANodePodLevel'],
    ['true', 'SingleNUMANodePodLevel'],
    ['no idea', 'SingleNUMANodePodLevel'],
    ['false', 'None'],
    ['F', 'None'],
  ])('the label topology-awareness=%s makes it %s', (label, word) => {
    const labels = label === undefined ? {} : { 'topology.crane.io/topology-awareness': label };
    const fields = craneTopology.build(reportOf({}, { node: { name: 'n1', uid: '', labels } }));
    expect(fields['craneManagerPolicy']).toMatchObject({ topologyManagerPolicy: word });
  });

  test('kinds of cores are an attribute, of the community kind too', () => {
    const report = reportOf({
      coreKinds: [
        { name: 'performance', cpus: parseCpuList('0-3') },
        { name: 'efficiency', cpus: parseCpuList('4-7') },
      ],
    });
    const value = 'performance=0-3 efficiency=4-7';
    expect(craneTopology.build(report)['attributes']).toMatchObject({ 'cpusetd.io/core-kinds': value });
    expect(communityTopology.build(report)['attributes']).toContainEqual({ name: 'cpusetd.io/core-kinds', value });
  });

  test('without a reservation allocatable is still there', () => {
    const fields = craneTopology.build(reportOf({ reserved: CpuSet.empty }));
    expect(fields).toMatchObject({ reserved: { cpu: '0' }, attributes: { 'go.crane.io/reserved-system-cpus': '' } });
  });
});
