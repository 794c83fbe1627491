import { pino } from 'pino';
import { Alarms } from '../../../src/app/alarms/alarms';
import { Cluster } from '../../../src/app/qos/cluster';
import type { Json } from '../../support/kube/api-server';
import { matchPod } from '../../../src/qos/objects/match-pod';
import { podOf, podQosOf } from '../../kube/qos/objects';
import { waitUntil } from '../../support/wait-until';
import { openStage, type Stage } from '../../kube/qos/stage';

const NODES = '/api/v1/nodes';

let stage: Stage;
afterEach(() => stage.close());

const NODE_QOS = '/apis/ensurance.crane.io/v1alpha1/nodeqoss';

async function open(without?: string) {
  stage = await openStage(without === undefined ? {} : { without });
  stage.server.put(NODES, { metadata: { name: 'n1' }, spec: {} });
  const daemon = new AbortController();
  stage.onClose(() => daemon.abort());
  const log = pino({ level: 'silent' });
  const alarms = new Alarms({ log, now: () => '', onChange: () => undefined });
  const cluster = new Cluster({
    client: stage.client,
    nodeName: 'n1',
    log,
    alarms,
    signal: daemon.signal,
    now: () => '2026-01-01T00:00:00Z',
    follows: { rules: true, predictions: false },
  });
  return { cluster, daemon, alarms };
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
  cluster.writePodEvent({ pod, container: 'main', type: 'Warning', reason: 'CpuThrottled', message: 'q/r: too much' });
  await waitUntil('the Event', () => stage.server.listAll('/api/v1/events').length > 0);
  expect(stage.server.listAll('/api/v1/events')).toMatchObject([
    {
      involvedObject: { kind: 'Pod', ...pod, fieldPath: 'spec.containers{main}' },
      type: 'Warning',
      reason: 'CpuThrottled',
      message: 'q/r: too much',
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

test('rules that are refused are one alarm for their kind, until they are corrected or removed', async () => {
  const { cluster, daemon, alarms } = await open();
  const running = cluster.run();
  stage.onClose(async () => {
    daemon.abort();
    await running;
  });
  const bad = (name: string): Json => ({ metadata: { name }, spec: { rules: [{ name: 'r', metricRule: 7 }] } });
  stage.server.put(NODE_QOS, bad('a'));
  stage.server.put(NODE_QOS, bad('b'));
  await waitUntil('the alarm', () => alarms.list()[0]?.because.includes('NodeQOS b') === true);
  expect(alarms.list()).toMatchObject([{ kind: 'qos-object-refused', subject: 'NodeQOS' }]);
  expect(alarms.list()[0]!.because).toContain('NodeQOS a: spec.rules[0]');
  stage.server.put(NODE_QOS, { metadata: { name: 'a' }, spec: {} });
  await waitUntil('one is corrected', () => alarms.list()[0]?.because.includes('NodeQOS a') === false);
  stage.server.remove(NODE_QOS, { metadata: { name: 'b' } });
  await waitUntil('the end of the alarm', () => alarms.list().length === 0);
});

describe('pods of one tenant, whose PodQOS selects by a label', () => {
  const manyLabels = { tier: 'batch', ...Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`l${i}`, ''])) };
  const podNamed = (name: string, labels: Json, limits: Json = {}): Json =>
    podOf({
      metadata: { name, uid: name, namespace: 'tenant', labels },
      spec: {
        nodeName: 'n1',
        terminationGracePeriodSeconds: 2 ** 63 - 1,
        containers: [{ name: 'app', resources: { limits } }],
      },
    });

  async function follow(...pods: Json[]) {
    const { cluster, daemon } = await open();
    const spec = { labelSelector: { matchLabels: { tier: 'batch' } }, allowedActions: ['throttle'] };
    stage.server.put('/apis/ensurance.crane.io/v1alpha1/podqoss', podQosOf(spec));
    for (const pod of pods) stage.server.put('/api/v1/pods', pod);
    const running = cluster.run();
    stage.onClose(async () => {
      daemon.abort();
      await running;
    });
    const selected = (): string[] => {
      const { rules } = cluster;
      if (rules.kind === 'unknown') return [];
      return rules.pods.filter((pod) => rules.podQoss.some((qos) => matchPod(qos, pod))).map(({ name }) => name);
    };
    return { cluster, selected };
  }

  test('all are followed and selected, whatever their author writes', async () => {
    const { selected } = await follow(
      podNamed('plain', { tier: 'batch' }),
      podNamed('big', { tier: 'batch' }, { memory: '9Pi', cpu: '9e15' }),
      podNamed('labels', manyLabels),
      podNamed('other', { tier: 'web' }),
    );
    await waitUntil('the objects are known', () => selected().length > 0);
    expect(selected()).toEqual(['big', 'labels', 'plain']);
  });

  test('more labels on a running pod take it out of no rule', async () => {
    const { cluster, selected } = await follow(podNamed('plain', { tier: 'batch' }));
    await waitUntil('the pod is selected', () => selected().length > 0);
    const before = cluster.pods[0];
    stage.server.put('/api/v1/pods', podNamed('plain', manyLabels));
    await waitUntil('its change is known', () => cluster.pods[0] !== before);
    expect(selected()).toEqual(['plain']);
  });
});
