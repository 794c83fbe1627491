import { isDeepStrictEqual } from 'node:util';
import { pino } from 'pino';
import { Alarms } from '../../../src/app/alarms/alarms';
import { Faults } from '../../../src/app/alarms/faults';
import { Cluster } from '../../../src/app/qos/cluster';
import type { Json } from '../../support/kube/api-server';
import { waitUntil } from '../../support/wait-until';
import { openStage, type Stage } from '../../kube/qos/stage';

const NODES = '/api/v1/nodes';
const CONFIG_MAPS = '/api/v1/configmaps';
const PREDICTIONS = '/apis/prediction.crane.io/v1alpha1/timeseriespredictions';
/** As Crane's chart installs it, with fewer fields. */
const TEMPLATE = `
predictionMetrics:
- algorithm: { algorithmType: dsp, dsp: { historyLength: 3d, sampleInterval: 60s } }
  resourceIdentifier: cpu
  type: ExpressionQuery
  expressionQuery:
    expression: 'sum(node_cpu_seconds_total{instance=~"({{.metadata.name}})(:\\\\d+)?"})'
predictionWindowSeconds: 3600
`;
const SPEC = {
  predictionMetrics: [
    {
      algorithm: { algorithmType: 'dsp', dsp: { historyLength: '3d', sampleInterval: '60s' } },
      resourceIdentifier: 'cpu',
      type: 'ExpressionQuery',
      expressionQuery: { expression: 'sum(node_cpu_seconds_total{instance=~"(n1)(:\\\\d+)?"})' },
    },
  ],
  predictionWindowSeconds: 3600,
  targetRef: { kind: 'Node', apiVersion: 'v1', name: 'n1' },
};

let stage: Stage;
afterEach(() => stage.close());

async function open({ asks = true, without }: { readonly asks?: boolean; readonly without?: string } = {}) {
  stage = await openStage(without === undefined ? {} : { without });
  const { server } = stage;
  server.put(NODES, { metadata: { name: 'n1', uid: 'u1', labels: { pool: 'a' } } });
  const lines: string[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const alarms = new Alarms({ log, now: () => '', onChange: () => undefined });
  const daemon = new AbortController();
  const cluster = new Cluster({
    client: stage.client,
    nodeName: 'n1',
    log,
    signal: daemon.signal,
    now: () => '2026-01-01T00:00:00Z',
    follows: { rules: false, predictions: true },
    alarms,
    ...(asks && { asksForPrediction: { faults: new Faults({ log, alarms }) } }),
  });
  const running = cluster.run();
  stage.onClose(async () => {
    daemon.abort();
    await running;
  });
  return {
    alarms,
    lines,
    cluster,
    stored: (): Json | undefined => server.get(PREDICTIONS, 'noderesource-n1', 'crane-system'),
    template: (spec: string) =>
      server.put(CONFIG_MAPS, {
        metadata: { name: 'noderesource-tsp-template', namespace: 'crane-system' },
        data: { spec },
      }),
    writes: () =>
      server.requests.filter(({ method, path }) => method !== 'GET' && path.includes('timeseriespredictions')).length,
    label: (labels: Record<string, string>) => server.put(NODES, { metadata: { name: 'n1', uid: 'u1', labels } }),
  };
}

test('given the template, it is created for this Node, which owns it; the prediction is read then', async () => {
  const { template, stored, cluster } = await open();
  template(TEMPLATE);
  await waitUntil('the object', () => stored() !== undefined);
  expect(stored()).toMatchObject({
    metadata: {
      name: 'noderesource-n1',
      namespace: 'crane-system',
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'u1' }],
    },
  });
  expect(stored()!['spec']).toEqual(SPEC);
  await waitUntil('it is followed', () => cluster.prediction?.target === 'n1');
});

test('given an object with another spec, such as one of an older template, it is updated, once; its status stays', async () => {
  const { template, stored, writes } = await open();
  const metadata = { name: 'noderesource-n1', namespace: 'crane-system', annotations: { a: 'b' } };
  stage.server.put(PREDICTIONS, { metadata, spec: { predictionWindowSeconds: 60, old: 1 }, status: { a: 1 } });
  template(TEMPLATE);
  await waitUntil('the spec', () => JSON.stringify(stored()!['spec']) !== '{"predictionWindowSeconds":60,"old":1}');
  expect(stored()).toMatchObject({ metadata: { annotations: { a: 'b' } }, status: { a: 1 } });
  expect(stored()!['spec']).toEqual(SPEC);
  expect(writes()).toBe(1);
});

test('an object that is as the template says is not written', async () => {
  const { template, stored, writes, cluster } = await open();
  stage.server.put(PREDICTIONS, { metadata: { name: 'noderesource-n1', namespace: 'crane-system' }, spec: SPEC });
  template(TEMPLATE);
  await waitUntil('it is followed', () => cluster.prediction?.target === 'n1');
  template(TEMPLATE.replace('3600', '7200'));
  await waitUntil('the changed template', () => (stored()!['spec'] as Json)['predictionWindowSeconds'] === 7200);
  expect(writes()).toBe(1);
});

test('a changed template, a changed label that it names, and a deleted object take effect at once', async () => {
  const { template, stored, label } = await open();
  const expression = (): unknown => (stored()?.['spec'] as Json | undefined)?.['expression'];
  const withLabel = '{ predictionMetrics: [{ resourceIdentifier: cpu }], expression: "{{ .metadata.labels.pool }}" }';
  template(withLabel);
  await waitUntil('the first', () => expression() === 'a');
  template(withLabel.replace('"{{', '"of {{'));
  await waitUntil('the template', () => expression() === 'of a');
  label({ pool: 'b' });
  await waitUntil('the label', () => expression() === 'of b');
  stage.server.remove(PREDICTIONS, { metadata: { name: 'noderesource-n1', namespace: 'crane-system' } });
  expect(expression()).toBeUndefined();
  await waitUntil('it is made anew', () => expression() === 'of b');
});

test.each`
  name                               | text                                        | because
  ${'no spec'}                       | ${''}                                       | ${'it is no object with predictionMetrics'}
  ${'what is no YAML'}               | ${'a: ['}                                   | ${'Flow sequence in block collection'}
  ${'no metrics'}                    | ${'predictionWindowSeconds: 60'}            | ${'it has no predictionMetrics'}
  ${'a metric without its resource'} | ${'predictionMetrics: [{ type: a }]'}       | ${'predictionMetrics[0] has no resourceIdentifier'}
  ${'a field that the Node lacks'}   | ${'predictionMetrics: ["{{.metadata.x}}"]'} | ${'{{.metadata.x}} in line 1 names a value that the Node does not have'}
  ${'a template that is not closed'} | ${'predictionMetrics: ["{{.metadata.x"]'}   | ${'is not closed'}
`('a template with $name is an alarm that names the rule; the object stays; then a good one ends it', async (row) => {
  const { text, because } = row as { text: string; because: string };
  const { template, stored, writes, alarms } = await open();
  stage.server.put(PREDICTIONS, { metadata: { name: 'noderesource-n1', namespace: 'crane-system' }, spec: { a: 1 } });
  template(text);
  await waitUntil('the alarm', () => alarms.list().length > 0);
  expect(alarms.list()).toMatchObject([{ kind: 'prediction-template', subject: '' }]);
  expect(alarms.list()[0]!.because).toContain('spec of the ConfigMap crane-system/noderesource-tsp-template: ');
  expect(alarms.list()[0]!.because).toContain(because);
  expect(stored()!['spec']).toEqual({ a: 1 });
  expect(writes()).toBe(0);
  template(TEMPLATE);
  await waitUntil('the end of the alarm', () => alarms.list().length === 0);
  await waitUntil('the spec', () => writes() === 1);
});

test('given another writer of the spec, then it is put right after pauses that grow, with one warning', async () => {
  const { template, stored, lines } = await open();
  template(TEMPLATE);
  const isRight = (): boolean => isDeepStrictEqual(stored()?.['spec'], SPEC);
  await waitUntil('the object', isRight);
  const pauses: number[] = [];
  for (let i = 0; i < 2; i++) {
    const fromMs = performance.now();
    stage.server.put(PREDICTIONS, { ...stored()!, spec: { predictionWindowSeconds: i } });
    expect(isRight()).toBe(false);
    await waitUntil('it is put right', isRight);
    pauses.push(performance.now() - fromMs);
  }
  expect(pauses[0]).toBeGreaterThan(700);
  expect(pauses[1]).toBeGreaterThan(1_400);
  expect(lines.filter((line) => line.includes('somebody else changes the spec'))).toHaveLength(1);
});

test('given somebody who deletes it again and again, then it is made anew at once and after pauses that grow, with one warning', async () => {
  const { template, stored, lines } = await open();
  template(TEMPLATE);
  const isThere = (): boolean => stored() !== undefined;
  await waitUntil('the object', isThere);
  const pauses: number[] = [];
  for (let i = 0; i < 2; i++) {
    const fromMs = performance.now();
    stage.server.remove(PREDICTIONS, { metadata: { name: 'noderesource-n1', namespace: 'crane-system' } });
    expect(isThere()).toBe(false);
    await waitUntil('it is made anew', isThere);
    pauses.push(performance.now() - fromMs);
  }
  expect(pauses[0]).toBeLessThan(pauses[1]!);
  expect(pauses[1]).toBeGreaterThan(1_400);
  // It is told when the answer is there, which comes after the object.
  const warnings = (): number => lines.filter((line) => line.includes('somebody else deletes')).length;
  await waitUntil('the warning', () => warnings() > 0);
  expect(warnings()).toBe(1);
});

test('the alarm of a template ends with the template, and with the kind of the object', async () => {
  const { template, alarms } = await open();
  template('a: [');
  await waitUntil('the alarm', () => alarms.list().length > 0);
  stage.server.remove(CONFIG_MAPS, { metadata: { name: 'noderesource-tsp-template', namespace: 'crane-system' } });
  await waitUntil('the end of the alarm', () => alarms.list().length === 0);
  template('a: [');
  await waitUntil('the alarm', () => alarms.list().length > 0);
  stage.server.trouble = ({ path }) => (path.includes('timeseriespredictions') ? { status: 404 } : undefined);
  stage.server.endWatches();
  await waitUntil('the end of the alarm', () => alarms.list().length === 0);
});

test('without a template, or with the option off, nothing is written', async () => {
  const { writes, cluster } = await open();
  stage.server.put(PREDICTIONS, { metadata: { name: 'noderesource-n1', namespace: 'crane-system' }, spec: { targetRef: { name: 'x' } } }); // prettier-ignore
  await waitUntil('it is followed', () => cluster.prediction?.target === 'x');
  expect(writes()).toBe(0);
  await stage.close();
  const off = await open({ asks: false });
  off.template(TEMPLATE);
  stage.server.put(PREDICTIONS, { metadata: { name: 'noderesource-n1', namespace: 'crane-system' }, spec: { targetRef: { name: 'y' } } }); // prettier-ignore
  await waitUntil('it is followed', () => off.cluster.prediction?.target === 'y');
  expect(off.writes()).toBe(0);
  expect(stage.server.requests.filter(({ path }) => path.includes('configmaps'))).toEqual([]);
});

test('a missing right is said once, with what is lost; everything else goes on', async () => {
  const { template, lines, cluster } = await open({ without: 'prediction.crane.io/timeseriespredictions create' });
  template(TEMPLATE);
  await waitUntil('the line', () => lines.some((line) => line.includes('"resource":"timeseriespredictions')));
  expect(lines.filter((line) => line.includes('a right is missing'))).toEqual([
    expect.stringContaining('Crane’s predictor is not asked for a prediction of this node'),
  ]);
  expect(cluster.nodeState?.name).toBe('n1');
});
