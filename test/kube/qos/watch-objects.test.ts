import pino from 'pino';
import type { NodeQos, QosPod } from '../../../src/qos/objects/objects';
import type { Parsed } from '../../../src/kube/qos/field';
import { QosObjects } from '../../../src/kube/qos/watch-objects';
import type { Json, Trouble } from '../../support/kube/api-server';
import { waitUntil } from '../../support/wait-until';
import { openStage, type Stage } from './stage';

const ENSURANCE = '/apis/ensurance.crane.io/v1alpha1';
const [NODE_QOS, POD_QOS, ACTIONS] = ['nodeqoss', 'podqoss', 'avoidanceactions'].map(
  (name) => `${ENSURANCE}/${name}`,
) as [string, string, string];
const PREDICTIONS = '/apis/prediction.crane.io/v1alpha1/timeseriespredictions';
const PODS = '/api/v1/pods';

let stage: Stage;
afterEach(() => stage.close());

interface Named {
  readonly name: string;
  readonly round: number;
}
const named = (name: string, round = 1, more: object = {}): Json => ({ metadata: { name, ...more }, spec: { round } });
/** In place of the readers of Crane's objects, which are not tested here. A negative round is left out. */
function readNamed(object: unknown): Named | undefined {
  const { metadata, spec } = object as { metadata: { name: string }; spec: { round: number } };
  return spec.round < 0 ? undefined : { name: metadata.name, round: spec.round };
}

/** The same for a rule, which is refused. */
function parseNamed<T>(object: unknown): Parsed<T> {
  const value = readNamed(object) as T | undefined;
  return value === undefined ? { ok: false, because: 'its round is negative' } : { ok: true, value };
}

async function follow({
  trouble,
  unknownMs = 20,
  before,
}: {
  readonly trouble?: (path: string) => Trouble | undefined;
  readonly unknownMs?: number;
  readonly before?: (stage: Stage) => void;
} = {}) {
  stage = await openStage();
  stage.server.put(NODE_QOS, named('b'));
  stage.server.put(NODE_QOS, named('a'));
  stage.server.put(POD_QOS, named('p'));
  stage.server.put(ACTIONS, named('evict'));
  for (const name of ['noderesource-n1', 'noderesource-n2', 'other'])
    stage.server.put(PREDICTIONS, named(name, 1, { namespace: 'crane-system' }));
  stage.server.put(PREDICTIONS, named('noderesource-n1', 1, { namespace: 'elsewhere' }));
  for (const [name, nodeName] of [
    ['mine', 'n1'],
    ['theirs', 'n2'],
  ])
    // prettier-ignore
    stage.server.put(PODS, { metadata: { name, namespace: 'ns' }, spec: { round: 1, nodeName } });
  if (trouble) stage.server.trouble = ({ path }) => trouble(path);
  before?.(stage);
  const lines: { readonly path?: string; readonly because?: string }[] = [];
  let changes = 0;
  const objects = new QosObjects<Named>({
    client: stage.client,
    nodeName: 'n1',
    readers: {
      nodeQos: (object) => parseNamed<NodeQos>(object),
      podQos: (object) => parseNamed(object),
      action: (object) => parseNamed(object),
      prediction: readNamed,
      pod: (object) => readNamed(object) as QosPod | undefined,
    },
    onChange: () => changes++,
    log: pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[0]) }),
    signal: stage.stop.signal,
    unknownMs,
    answerMs: 5_000,
  });
  const ended = objects.run();
  stage.onClose(() => ended);
  return { objects, lines, changes: () => changes, server: stage.server };
}

const all = (objects: QosObjects<Named>) => ({
  nodeQos: objects.nodeQos,
  podQos: objects.podQos,
  actions: objects.actions,
  predictions: objects.predictions,
  pods: objects.pods,
});
const areCurrent = (objects: QosObjects<Named>): Promise<void> =>
  waitUntil('all are current', () => Object.values(all(objects)).every(({ newsAgeMs }) => newsAgeMs === 0));
const namesOf = ({ objects }: { readonly objects: readonly object[] }): string[] =>
  objects.map((object) => (object as Named).name);

test('all rules and actions are known by name, and of predictions and pods only those of this node', async () => {
  const { objects } = await follow();
  await areCurrent(objects);
  expect(Object.entries(all(objects)).map(([kind, followed]) => [kind, namesOf(followed)])).toEqual([
    ['nodeQos', ['a', 'b']],
    ['podQos', ['p']],
    ['actions', ['evict']],
    ['predictions', ['noderesource-n1']],
    ['pods', ['mine']],
  ]);
  for (const { isSynced, isDefined, reason } of Object.values(all(objects)))
    expect({ isSynced, isDefined, reason }).toEqual({ isSynced: true, isDefined: true, reason: '' });
});

test('a change is told, but not one that the readers do not see', async () => {
  const { objects, server, changes } = await follow();
  await areCurrent(objects);
  const before = changes();
  server.put(NODE_QOS, named('a', 1, { labels: { irrelevant: 'x' } }));
  server.put(NODE_QOS, named('a', 2));
  server.put(NODE_QOS, named('b', -1)); // left out from now on
  await waitUntil('both changes', () => changes() === before + 2);
  expect(objects.nodeQos).toMatchObject({ objects: [{ name: 'a', round: 2 }], refused: ['its round is negative'] });
});

test('given an API server that goes away: the objects stay, with their age and the reason, until it is back', async () => {
  const { objects, server } = await follow();
  await areCurrent(objects);
  await server.stop();
  await waitUntil('all are old', () => Object.values(all(objects)).every(({ newsAgeMs }) => newsAgeMs! > 50));
  expect(namesOf(objects.nodeQos)).toEqual(['a', 'b']);
  expect(objects.nodeQos).toMatchObject({ isSynced: true, isDefined: true });
  expect(objects.nodeQos.reason).not.toBe('');
  await server.start();
  await areCurrent(objects);
  expect(objects.nodeQos.reason).toBe('');
});

describe('given a cluster without the definition of TimeSeriesPrediction', () => {
  let isDefined = false;
  beforeEach(() => (isDefined = false));
  const trouble = (path: string): Trouble | undefined =>
    path.startsWith('/apis/prediction.crane.io') && !isDefined ? { status: 404 } : undefined;
  const want =
    'the API server does not know TimeSeriesPrediction of prediction.crane.io/v1alpha1 (404): apply its definition from deploy/crds';

  test('the reason says so, one line of the log too, and the other objects are known', async () => {
    const { objects, lines, server } = await follow({ trouble });
    const asked = () => server.requests.filter(({ path }) => path.includes('timeseriespredictions')).length;
    await waitUntil('it asks again', () => asked() > 2);
    expect(objects.predictions).toEqual({
      objects: [],
      refused: [],
      isSynced: false,
      isDefined: false,
      reason: want,
      newsAgeMs: undefined,
    });
    expect(namesOf(objects.nodeQos)).toEqual(['a', 'b']);
    expect(lines.map(({ because }) => because)).toEqual([want]);
  });

  test('it waits a minute by default, so that a cluster of many nodes is not asked all the time', async () => {
    const { objects, server } = await follow({ trouble, unknownMs: 60_000 });
    await waitUntil('the answer', () => !objects.predictions.isDefined);
    await new Promise((resolve) => setTimeout(resolve, 1_500)); // another failure is tried again within 0.7 s
    expect(server.requests.filter(({ path }) => path.includes('timeseriespredictions'))).toHaveLength(1);
  });

  test('when it is applied later, the prediction is known', async () => {
    const { objects } = await follow({ trouble });
    await waitUntil('the answer', () => !objects.predictions.isDefined);
    isDefined = true;
    await areCurrent(objects);
    expect(objects.predictions).toMatchObject({ isDefined: true, isSynced: true });
    expect(namesOf(objects.predictions)).toEqual(['noderesource-n1']);
  });

  test('when it is deleted later, there are no predictions', async () => {
    isDefined = true;
    const { objects, server } = await follow({ trouble });
    await areCurrent(objects);
    expect(namesOf(objects.predictions)).toEqual(['noderesource-n1']);
    isDefined = false;
    server.endWatches();
    await waitUntil('the answer', () => !objects.predictions.isDefined);
    expect(objects.predictions.objects).toEqual([]);
  });
});

test('given a missing right, the reason names the file that grants it', async () => {
  const { objects } = await follow({ trouble: (path) => (path === NODE_QOS ? { status: 403 } : undefined) });
  await waitUntil('the answer', () => objects.nodeQos.reason.includes('403'));
  expect(objects.nodeQos.reason).toContain('deploy/components/qos/rbac.yaml');
  expect(objects.nodeQos).toMatchObject({ objects: [], isSynced: false, isDefined: true, newsAgeMs: undefined });
});

test('a collection without a reader is not asked for', async () => {
  stage = await openStage();
  const objects = new QosObjects<Named>({
    client: stage.client,
    nodeName: 'n1',
    readers: { nodeQos: (object) => parseNamed<NodeQos>(object) },
    log: pino({ level: 'silent' }),
    signal: stage.stop.signal,
  });
  const ended = objects.run();
  stage.onClose(() => ended);
  await waitUntil('the rules', () => objects.nodeQos.newsAgeMs === 0);
  expect([...new Set(stage.server.requests.map(({ path }) => path))]).toEqual([NODE_QOS]);
  expect(objects.pods).toMatchObject({ objects: [], isSynced: false, reason: 'it is not followed' });
});
