import { toNodeState, writeElasticResources, type NodeState } from '../../../src/kube/qos/node-resources';
import type { Json } from '../../support/kube/api-server';
import { openStage, type Stage } from './stage';

const NODES = '/api/v1/nodes';
const [CPU, MEMORY] = ['gocrane.io/cpu', 'gocrane.io/memory'];

let stage: Stage;
beforeEach(async () => {
  stage = await openStage();
  stage.server.put(NODES, {
    metadata: { name: 'n1' },
    status: { capacity: { cpu: '8', 'a.b/c': '3' }, allocatable: { cpu: '7', 'a.b/c': '3' }, phase: 'Running' },
  });
});
afterEach(() => stage.close());

const statusNow = (): Json => stage.server.get(NODES, 'n1')?.['status'] as Json;

test('what is lent is written in both places, in whole CPUs and bytes, and all else stays', async () => {
  await writeElasticResources(stage.client, 'n1', { milliCpu: 2999, memoryBytes: 2 ** 33 + 0.5 });
  const lent = { [CPU]: '2', [MEMORY]: '8589934592' };
  expect(statusNow()).toEqual({
    capacity: { cpu: '8', 'a.b/c': '3', ...lent },
    allocatable: { cpu: '7', 'a.b/c': '3', ...lent },
    phase: 'Running',
  });
  expect(stage.server.requests).toEqual([
    expect.objectContaining({
      method: 'PATCH',
      path: '/api/v1/nodes/n1/status',
      contentType: 'application/merge-patch+json',
    }),
  ]);
  expect(toNodeState(stage.server.get(NODES, 'n1')).lent).toEqual({ milliCpu: 2000, memoryBytes: 2 ** 33 });
});

test.each([
  [{ milliCpu: 1000 }, [CPU]],
  [{ memoryBytes: 1 }, [MEMORY]],
  [{}, []],
])('given %j, what is absent is removed, also when it is removed twice', async (wanted, want) => {
  await writeElasticResources(stage.client, 'n1', { milliCpu: 4000, memoryBytes: 4 });
  for (let times = 0; times < 2; times++) await writeElasticResources(stage.client, 'n1', wanted);
  for (const place of ['capacity', 'allocatable'])
    expect(Object.keys(statusNow()[place] as Json)).toEqual(['cpu', 'a.b/c', ...want]);
});

test.each([
  ['no right', '/nodes/status patch', 'n1', 403],
  ['no Node', undefined, 'n2', 404],
])('given %s, the error has its status', async (_name, without, name, status) => {
  await stage.close();
  stage = await openStage(without === undefined ? {} : { without });
  await expect(writeElasticResources(stage.client, name, { milliCpu: 1000 })).rejects.toMatchObject({ status });
});

describe('the state of a Node', () => {
  const read = (capacity: unknown, allocatable: unknown): NodeState['lent'] =>
    toNodeState({ metadata: { name: 'n1' }, status: { capacity, allocatable } }).lent;

  test.each`
    given                                 | capacity               | allocatable              | want
    ${'nothing'}                          | ${{}}                  | ${{}}                    | ${{}}
    ${'no status'}                        | ${undefined}           | ${undefined}             | ${{}}
    ${'both alike'}                       | ${{ [CPU]: '3' }}      | ${{ [CPU]: '3' }}        | ${{ milliCpu: 3000 }}
    ${'the same, written in another way'} | ${{ [MEMORY]: '1Gi' }} | ${{ [MEMORY]: 2 ** 30 }} | ${{ memoryBytes: 2 ** 30 }}
    ${'zero, as a kubelet sets it'}       | ${{ [CPU]: '0' }}      | ${{ [CPU]: '0' }}        | ${{ milliCpu: 0 }}
    ${'only in one place'}                | ${{ [CPU]: '3' }}      | ${{}}                    | ${{}}
    ${'different in both places'}         | ${{ [CPU]: '3' }}      | ${{ [CPU]: '2' }}        | ${{}}
    ${'no quantity'}                      | ${{ [CPU]: 'many' }}   | ${{ [CPU]: 'many' }}     | ${{}}
  `('given $given, lent is $want', ({ capacity, allocatable, want }: Record<string, unknown>) => {
    expect(read(capacity, allocatable)).toEqual(want);
  });

  test('has what decides: labels, annotations, addresses, allocatable, the taint', () => {
    expect(
      toNodeState({
        metadata: {
          name: 'n1',
          uid: 'u1',
          labels: { pool: 'a' },
          annotations: { 'reserve.node.gocrane.io/cpu': '40%' },
        },
        spec: { taints: [{ key: 'interference.crane.io', effect: 'PreferNoSchedule' }] },
        status: {
          addresses: [{ type: 'InternalIP', address: '10.0.0.1' }, { type: 'Hostname', address: 'n1' }, {}, 7],
          capacity: { cpu: '8' },
          allocatable: { cpu: '7500m', memory: '30Gi' },
        },
      }),
    ).toEqual({
      name: 'n1',
      uid: 'u1',
      labels: { pool: 'a' },
      annotations: { 'reserve.node.gocrane.io/cpu': '40%' },
      addresses: ['10.0.0.1', 'n1'],
      allocatable: { milliCpu: 7500, memoryBytes: 30 * 2 ** 30 },
      lent: {},
      isTainted: true,
    });
  });
});
