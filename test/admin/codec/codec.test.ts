import * as pb from '../../../gen/cpusetd/v1/cpusetd';
import { decodeAssignment, encodeAssignment } from '../../../src/admin/codec/assignment';
import { decodeContainer, encodeContainer } from '../../../src/admin/codec/container';
import {
  decodeExplainQuery,
  decodeExplanation,
  encodeExplainQuery,
  encodeExplanation,
} from '../../../src/admin/codec/explain';
import { decodeNode, encodeNode } from '../../../src/admin/codec/node';
import { decodeChange, decodeStatus, encodeChange, encodeStatus } from '../../../src/admin/codec/status';
import { decodeTopology, encodeMachine } from '../../../src/admin/codec/topology';
import { parseCpuList } from '../../../src/core/cpuset';
import { buildTopology } from '../../../src/core/topology';
import type { NodeStatus, StatusChange } from '../../../src/admin/model/status';
import { sampleLent, sampleRefused, sampleStatus, sampleTopology, sampleUsage } from '../sample-status';

const { node, containers, idle } = sampleStatus;

test('node, containers and assignments are the same after encoding and decoding', () => {
  expect(decodeNode(encodeNode(node))).toEqual(node);
  const pendingOptions = [{ option: 'mode', inForce: 'nri', configured: 'cri-proxy', because: 'decides how' }];
  expect(decodeNode(encodeNode({ ...node, pendingOptions }))).toEqual({ ...node, pendingOptions });
  expect(containers.map((container) => decodeContainer(encodeContainer(container)))).toEqual(containers);
  const { assignments } = sampleTopology;
  expect(assignments.map((each) => decodeAssignment(encodeAssignment(each)))).toEqual(assignments);
});

test('the status and each kind of change are the same after encoding and decoding', () => {
  expect(decodeStatus(encodeStatus(sampleStatus))).toEqual(sampleStatus);
  const changes: StatusChange[] = [
    { kind: 'full', status: sampleStatus },
    { kind: 'node', node },
    { kind: 'container', container: containers[1]! },
    { kind: 'container-removed', id: 'a' },
    { kind: 'idle', idle },
  ];
  expect(changes.map((change) => decodeChange(encodeChange(change)))).toEqual(changes);
});

test('usage, rules and what is lent are the same without their optional fields; figures with a fraction are rounded where messages have integers', () => {
  const bare: NodeStatus = {
    ...node,
    usage: { at: sampleUsage.at, busyMs: 1, cpuCores: 4, sets: [] },
    qos: { mode: 'off', because: 'off', rules: [], throttled: [], recent: [], actionsLeft: 0, evictionsLeft: 0 },
    lent: { because: 'nothing is left', since: sampleUsage.at },
  };
  expect(decodeNode(encodeNode(bare))).toEqual(bare);
  const without = (({ usage: _usage, qos: _qos, lent: _lent, ...rest }) => rest)(node);
  expect(decodeNode(encodeNode(without))).toEqual(without);
  const zeros = { ...sampleUsage, cpuPercent: 0, memoryBytes: 0, load1: 0, exclusiveIdleMilliCpu: 0 };
  expect(decodeNode(encodeNode({ ...node, usage: zeros })).usage).toEqual(zeros);
  const fractions = { ...node, usage: { ...sampleUsage, memoryBytes: 10.6 }, lent: { ...sampleLent, memoryBytes: -1 } };
  expect(decodeNode(encodeNode(fractions))).toMatchObject({ usage: { memoryBytes: 11 }, lent: { memoryBytes: 0 } });
});

test('a change of a newer version is undefined', () => {
  expect(decodeChange(pb.WatchStatusResponse.create())).toBeUndefined();
});

test('the topology is the same after encoding and decoding, and an answer without a machine is DATA_LOSS', () => {
  const answer = pb.GetTopologyResponse.create({
    machine: encodeMachine(sampleTopology.topology, sampleTopology.offline),
    node: encodeNode(node),
    assignments: sampleTopology.assignments.map(encodeAssignment),
  });
  expect(decodeTopology(answer)).toEqual(sampleTopology);
  expect(() => decodeTopology(pb.GetTopologyResponse.create())).toThrow(expect.objectContaining({ code: 'DATA_LOSS' }));
});

test('kinds of cores, levels of caches, memory of devices and what was ignored come through', () => {
  const topology = buildTopology({
    ...sampleTopology.topology,
    memoryNodes: [
      ...sampleTopology.topology.memoryNodes,
      { id: 2, memoryBytes: 2 ** 30, distances: new Map(), tier: 22 },
      { id: 3, memoryBytes: 2 ** 30, distances: new Map(), isOfGpu: true },
    ],
    cacheLevels: new Map([
      [0, 'cluster'],
      [1, 'none'],
    ]),
    coreKinds: [
      { name: 'performance', cpus: parseCpuList('0-3') },
      { name: 'efficiency', cpus: parseCpuList('4-7') },
    ],
    ignored: ['a sentence'],
  });
  const shown = { ...sampleTopology, topology, node: { ...node, ignored: topology.ignored } };
  const answer = pb.GetTopologyResponse.create({
    machine: encodeMachine(topology, shown.offline),
    node: encodeNode(shown.node),
    assignments: shown.assignments.map(encodeAssignment),
  });
  expect(decodeTopology(answer)).toEqual(shown);
});

test('queries and explanations are the same after encoding and decoding', () => {
  const queries = [
    { kind: 'pod', namespace: 'ns', pod: 'p', container: '' },
    { kind: 'cpus', count: 3 },
  ] as const;
  expect(queries.map((query) => decodeExplainQuery(encodeExplainQuery(query)))).toEqual(queries);
  expect(decodeExplainQuery(pb.ExplainRequest.create())).toBeUndefined();

  const steps = [{ rule: 'whole-core', took: node.free, because: 'free' }];
  const explanations = [
    {
      kind: 'containers',
      containers: [{ container: containers[0]!, steps }],
      idle,
      refused: [sampleRefused],
      others: [{ podUid: 'uid-of-another', running: true, cpus: parseCpuList('2-3') }],
    },
    { kind: 'what-if', fits: true, cpus: node.free, because: 'free', steps },
  ] as const;
  expect(explanations.map((each) => decodeExplanation(encodeExplanation(each)))).toEqual(explanations);
});

test('values of a newer version have the safe meaning', () => {
  const container = pb.ContainerStatus.create({ placement: pb.Placement.UNRECOGNIZED });
  expect(decodeContainer(container)).toMatchObject({ placement: 'left-alone', verdict: { kind: 'unknown' } });
  expect(decodeNode(pb.NodeStatus.create({ nri: { state: pb.ConnectionState.UNRECOGNIZED } })).nri.state).toBe('off');
  const qos = pb.QosStatus.create({ mode: pb.QosMode.UNRECOGNIZED });
  expect(decodeNode(pb.NodeStatus.create({ qos })).qos?.mode).toBe('off');
});
