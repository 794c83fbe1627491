import { pino } from 'pino';
import { Cluster } from '../../../src/app/qos/cluster';
import type { Json } from '../../support/kube/api-server';
import { waitUntil } from '../../support/wait-until';
import { openStage, type Stage } from '../../kube/qos/stage';

const NODES = '/api/v1/nodes';

let stage: Stage;
afterEach(() => stage.close());

async function open(without?: string) {
  stage = await openStage(without === undefined ? {} : { without });
  stage.server.put(NODES, { metadata: { name: 'n1' }, spec: {} });
  const daemon = new AbortController();
  stage.onClose(() => daemon.abort());
  const cluster = new Cluster({
    ...{ client: stage.client, nodeName: 'n1', log: pino({ level: 'silent' }), signal: daemon.signal },
    ...{ now: () => '2026-01-01T00:00:00Z', follows: { rules: true, predictions: false } },
  });
  return { cluster, daemon };
}

const taints = (): unknown => (stage.server.get(NODES, 'n1')?.['spec'] as Json)['taints'] ?? [];
const conditions = () =>
  ((stage.server.get(NODES, 'n1')?.['status'] as Json | undefined)?.['conditions'] ?? []) as Json[];

test('taint and condition are set, and undone also after the daemon was told to end', async () => {
  const { cluster, daemon } = await open();
  await cluster.mark(true, 'q/r triggered action a');
  expect(taints()).toEqual([{ key: 'interference.crane.io', effect: 'PreferNoSchedule' }]);
  expect(conditions()).toMatchObject([{ type: 'interference-identified', status: 'True' }]);
  daemon.abort();
  await cluster.mark(false, 'cpusetd ends');
  expect(taints()).toEqual([]);
  expect(conditions()).toMatchObject([{ type: 'interference-identified', status: 'False' }]);
});

test('the Event about an action is on the pod that it hits', async () => {
  const { cluster } = await open();
  const pod = { uid: 'u', namespace: 'jobs', name: 'p' };
  cluster.tellPod({ pod, container: 'main', type: 'Warning', reason: 'CpuThrottled', message: 'q/r: too much' });
  await waitUntil('the Event', () => stage.server.listAll('/api/v1/events').length > 0);
  expect(stage.server.listAll('/api/v1/events')).toMatchObject([
    {
      involvedObject: { kind: 'Pod', ...pod, fieldPath: 'spec.containers{main}' },
      ...{ type: 'Warning', reason: 'CpuThrottled', message: 'q/r: too much' },
    },
  ]);
});

test('without the right to write conditions, the taint is set and removed all the same', async () => {
  const { cluster } = await open('/nodes/status patch');
  await cluster.mark(true, 'q/r triggered action a');
  expect(taints()).toHaveLength(1);
  await cluster.mark(false, 'q/r restored');
  expect(taints()).toEqual([]);
});

test('an eviction that the API server refuses for lack of rights is surely not carried out', async () => {
  const { cluster } = await open('/pods/eviction create');
  stage.server.put('/api/v1/pods', { metadata: { name: 'p', namespace: 'jobs', uid: 'u' } });
  expect(await cluster.evict({ uid: 'u', namespace: 'jobs', name: 'p' }, undefined)).toMatchObject({
    kind: 'refused',
    because: expect.stringContaining('403') as string,
  });
});
