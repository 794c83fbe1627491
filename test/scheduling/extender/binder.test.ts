import { formatClaims, MAX_CLAIMS } from '../../../src/kube';
import { createRandom } from '../../support/random';
import { cpusOf, podObject, RESULT, resultText, topologyObject, type PodShape } from '../topology/objects';
import { startExtender, type Extender } from './rig';
import { PODS, StandInCluster, TOPOLOGIES, type Fate } from './stand-in-cluster';

type Json = Record<string, unknown>;

const CLAIMS = 'cpusetd.io/assumed-pods';
const NOW_MS = Date.UTC(2026, 10, 23);
const clock = { nowMs: NOW_MS };
beforeEach(() => (clock.nowMs = NOW_MS));

interface Rig {
  readonly cluster: StandInCluster;
  readonly extender: Extender;
}

/** A node of two zones with 4 CPUs each, and an extender whose caches are filled. */
async function start({ annotations = {}, zones = ['4', '4'] } = {}): Promise<Rig> {
  const cluster = new StandInCluster(createRandom(1));
  cluster.put(TOPOLOGIES, topologyObject({ name: 'n', zones, annotations }));
  const extender = startExtender(cluster, clock);
  await cluster.settle();
  return { cluster, extender };
}

function put(cluster: StandInCluster, cpus: string, shape: PodShape = {}): Json {
  return cluster.put(PODS, podObject([cpus], shape));
}

async function bind({ cluster, extender }: Rig, pod: Json, options?: { readonly isUnseen?: boolean }) {
  const outcome = extender.bind(pod, 'n', options);
  await cluster.settle();
  return outcome;
}

const metaOf = (object: Json | undefined): Json => (object?.['metadata'] ?? {}) as Json;
const annotationOf = (object: Json | undefined, name: string) =>
  (metaOf(object)['annotations'] as Json | undefined)?.[name];
const nodeOf = (cluster: StandInCluster, name = 'p') =>
  (cluster.get(PODS, name, 'default')?.['spec'] as Json)['nodeName'];
const resultOf = (cluster: StandInCluster, name = 'p') => annotationOf(cluster.get(PODS, name, 'default'), RESULT);
const claimsOf = (cluster: StandInCluster): Json =>
  JSON.parse((annotationOf(cluster.get(TOPOLOGIES, 'n'), CLAIMS) as string | undefined) ?? '{}') as Json;
/** Lets requests of this kind have this fate, once or always. */
function fail(cluster: StandInCluster, kind: 'PATCH' | 'POST' | 'GET', fate: Fate, times = Infinity): void {
  let left = times;
  cluster.decide = ({ method }) => (method === kind && left-- > 0 ? fate : 'done');
}

test('given a pod with whole CPUs: a claim, then the binding with the result', async () => {
  const rig = await start();
  const pod = put(rig.cluster, '3');
  expect(await bind(rig, pod)).toMatchObject({ ok: true, grants: [{ zone: 'node0' }] });
  expect([nodeOf(rig.cluster), resultOf(rig.cluster)]).toEqual(['n', resultText({ node0: 3 })]);
  expect(claimsOf(rig.cluster)).toEqual({
    u: { pod: 'default/p', zones: { node0: { cpu: '3' } }, at: '2026-11-23T00:00:00.000Z' },
  });
  const { 'GET pods': lists, 'GET topologies': others, ...writes } = Object.fromEntries(rig.cluster.counts);
  expect([lists, others]).toEqual([1, 1]); // the lists of the caches
  expect(writes).toEqual({ 'PATCH topologies': 1, 'POST binding': 1 });
});

test('given a pod without whole CPUs: the binding alone, without annotations', async () => {
  const rig = await start();
  expect(await bind(rig, put(rig.cluster, '500m'))).toEqual({ ok: true, grants: undefined });
  expect([nodeOf(rig.cluster), resultOf(rig.cluster), claimsOf(rig.cluster)]).toEqual(['n', undefined, {}]);
});

test('given a pod whose author wrote a result: the binding replaces it', async () => {
  const rig = await start();
  await bind(rig, put(rig.cluster, '3', { annotations: { [RESULT]: resultText({ node7: 900 }) } }));
  expect(resultOf(rig.cluster)).toBe(resultText({ node0: 3 }));
});

test('given bound pods and claims of others: each counts once', async () => {
  const rig = await start();
  expect(await bind(rig, put(rig.cluster, '3', { uid: 'a', name: 'a' }))).toMatchObject({ ok: true });
  expect(await bind(rig, put(rig.cluster, '3', { uid: 'b', name: 'b' }))).toMatchObject({
    grants: [{ zone: 'node1' }],
  });
  expect(await bind(rig, put(rig.cluster, '1', { uid: 'c', name: 'c' }))).toMatchObject({
    grants: [{ zone: 'node0' }],
  });
  expect(await bind(rig, put(rig.cluster, '2', { uid: 'd', name: 'd' }))).toEqual({
    ok: false,
    result: 'no-fit',
    because: 'node(s) had insufficient resource of NUMA node',
  });
  expect(nodeOf(rig.cluster, 'd')).toBeUndefined();
  rig.cluster.remove(PODS, podObject([], { name: 'b' }));
  await rig.cluster.settle();
  expect(await bind(rig, put(rig.cluster, '4', { uid: 'd', name: 'd' }))).toMatchObject({
    grants: [{ zone: 'node1' }],
  });
});

describe('a pod that the filter of this replica has not seen', () => {
  test.each<[string, PodShape, object]>([
    ['a waiting pod', {}, { ok: true, grants: [{ zone: 'node0' }] }],
    ['a pod that is bound to the node already', { node: 'n' }, { ok: true }],
    ['a pod that is bound elsewhere', { node: 'other' }, { ok: false, because: 'the pod is bound to another node' }],
    ['a new pod of that name', { uid: 'new' }, { ok: false, because: 'the pod was deleted; another one has its name' }],
  ])('given %s: it is read, and decided by', async (_name, shape, want) => {
    const rig = await start();
    put(rig.cluster, '3', shape);
    expect(await bind(rig, podObject(['3']), { isUnseen: true })).toMatchObject(want);
    const isBoundNow = (want as { grants?: unknown }).grants !== undefined;
    expect(rig.cluster.counts.get('POST binding')).toBe(isBoundNow ? 1 : undefined);
    expect(Object.keys(claimsOf(rig.cluster))).toHaveLength(isBoundNow ? 1 : 0);
  });

  test('given no pod: an error without details', async () => {
    const rig = await start();
    expect(await bind(rig, podObject(['3']), { isUnseen: true })).toEqual({
      ok: false,
      result: 'failed',
      because: 'the API server answered with status 404',
    });
  });
});

describe('failures', () => {
  test('given a binding that is refused: the claim is taken back', async () => {
    const rig = await start();
    fail(rig.cluster, 'POST', 403);
    expect(await bind(rig, put(rig.cluster, '3'))).toEqual({
      ok: false,
      result: 'failed',
      because: 'the API server answered with status 403',
    });
    expect([nodeOf(rig.cluster), claimsOf(rig.cluster)]).toEqual([undefined, {}]);
    fail(rig.cluster, 'POST', 'done');
    expect(await bind(rig, put(rig.cluster, '4', { uid: 'b', name: 'b' }))).toMatchObject({
      grants: [{ zone: 'node0' }],
    });
  });

  test.each<['lost' | 'unanswered']>([['lost'], ['unanswered']])(
    'given a binding that is %s: an error, and the claim stays; the next try binds the pod to the same zones',
    async (fate) => {
      const rig = await start();
      const pod = put(rig.cluster, '3');
      fail(rig.cluster, 'POST', fate, 1);
      expect(await bind(rig, pod)).toMatchObject({ ok: false, because: 'the API server did not answer' });
      expect(Object.keys(claimsOf(rig.cluster))).toEqual(['u']);
      // The CPUs that another pod gets meanwhile change nothing.
      await bind(rig, put(rig.cluster, '1', { uid: 'b', name: 'b' }));
      expect(await bind(rig, pod)).toMatchObject({ ok: true });
      expect([nodeOf(rig.cluster), resultOf(rig.cluster)]).toEqual(['n', resultText({ node0: 3 })]);
    },
  );

  test('given a claim that the API server refuses at each try: five tries, no binding', async () => {
    const rig = await start();
    fail(rig.cluster, 'PATCH', 409);
    expect(await bind(rig, put(rig.cluster, '3'))).toEqual({
      ok: false,
      result: 'conflict',
      because: 'the zones of the node changed at each try',
    });
    expect([rig.extender.conflicts(), nodeOf(rig.cluster)]).toEqual([5, undefined]);
  });

  test('given a node that changes its topology before the first claim: the second is decided by the new one', async () => {
    const rig = await start();
    const pod = put(rig.cluster, '3');
    let isFirst = true;
    rig.cluster.decide = ({ method }) => {
      if (method === 'PATCH' && isFirst) {
        isFirst = false;
        rig.cluster.put(TOPOLOGIES, topologyObject({ name: 'n', zones: ['2', '4'] }));
      }
      return 'done';
    };
    expect(await bind(rig, pod)).toMatchObject({ ok: true, grants: [{ zone: 'node1' }] });
    expect(rig.extender.conflicts()).toBe(1);
  });

  test('given a topology that is deleted: an error, and then none', async () => {
    const rig = await start();
    const pod = put(rig.cluster, '3');
    await bind(rig, put(rig.cluster, '1', { uid: 'b', name: 'b' }));
    rig.cluster.remove(TOPOLOGIES, topologyObject({ name: 'n', zones: [] }));
    const outcome = rig.extender.bind(pod, 'n');
    await rig.cluster.settle();
    expect(await outcome).toMatchObject({ ok: false });
    expect(await bind(rig, pod)).toEqual({ ok: false, result: 'no-fit', because: 'node(s) failed to get NRT' });
  });

  test('given caches that are not filled: nothing is claimed or bound', async () => {
    const cluster = new StandInCluster(createRandom(1));
    cluster.put(TOPOLOGIES, topologyObject({ name: 'n', zones: ['4'] }));
    const extender = startExtender(cluster, clock);
    const outcome = extender.bind(put(cluster, '3'), 'n');
    expect(await outcome).toMatchObject({
      ok: false,
      because: 'the NodeResourceTopologies and pods are not known yet',
    });
    await cluster.settle();
    expect(await bind({ cluster, extender }, podObject(['3']))).toMatchObject({ ok: true });
  });

  test.each<['PATCH' | 'POST']>([['PATCH'], ['POST']])(
    'given a binding whose time is over at its %s: no request is sent after that',
    async (kind) => {
      const rig = await start();
      const pod = put(rig.cluster, '3');
      rig.cluster.decide = ({ method, timeoutMs }) => {
        expect(timeoutMs).toBeLessThanOrEqual(1_500);
        if (method === kind) clock.nowMs += 10_000;
        return method === kind ? 409 : 'done';
      };
      expect(await bind(rig, pod)).toMatchObject({ ok: false });
      expect([
        rig.cluster.counts.get(kind === 'PATCH' ? 'PATCH topologies' : 'POST binding'),
        nodeOf(rig.cluster),
      ]).toEqual([1, undefined]);
    },
  );

  test(`given ${MAX_CLAIMS} claims of waiting pods: no more`, async () => {
    const claim = { pod: 'default/x', zones: cpusOf(0), atMs: NOW_MS };
    const claims = formatClaims(new Map(Array.from({ length: MAX_CLAIMS }, (_, i) => [`x${i}`, claim])))!;
    const rig = await start({ annotations: { [CLAIMS]: claims } });
    expect(await bind(rig, put(rig.cluster, '3'))).toMatchObject({
      ok: false,
      because: `${MAX_CLAIMS} pods are being bound to the node already`,
    });
  });
});

describe('a bound pod that takes less than before, on a node of cpusetd', () => {
  const rules = { policy: 'static', podPolicies: ['none'], podLeaveAlone: true };
  const result = { [RESULT]: resultText({ node0: 4 }) };
  const held = (cpus: string, annotations: Record<string, string> = result) =>
    podObject([cpus], { uid: 'a', name: 'a', node: 'n', annotations });
  const changes: [string, Json][] = [
    ['its author removes the result', held('4', {})],
    ['it is resized', held('3')],
    ['it chooses the policy none', held('4', { ...result, 'cpusetd.io/policy': 'none' })],
    ['it asks to be left alone', held('4', { ...result, 'cpusetd.io/leave-alone': 'all' })],
  ];

  async function change(changed: Json): Promise<Rig & { readonly tries: () => Promise<unknown> }> {
    const cluster = new StandInCluster(createRandom(1));
    cluster.put(TOPOLOGIES, topologyObject({ zones: ['4'], rules }));
    cluster.put(PODS, held('4'));
    const rig = { cluster, extender: startExtender(cluster, clock) };
    await cluster.settle();
    const other = cluster.put(PODS, podObject(['1']));
    const tries = () => bind(rig, other);
    expect(await tries()).toMatchObject({ result: 'no-fit' });
    cluster.put(PODS, changed);
    await cluster.settle();
    return { ...rig, tries };
  }

  test.each(changes)('%s: its CPUs are not given to others until the node publishes again', async (_name, changed) => {
    const { cluster, tries } = await change(changed);
    expect(await tries()).toMatchObject({ result: 'no-fit' });
    cluster.put(TOPOLOGIES, topologyObject({ zones: ['1'], rules }));
    await cluster.settle();
    expect(await tries()).toMatchObject({ ok: true });
  });

  test.each(changes)('%s: they are given after a minute without news of the node', async (_name, changed) => {
    const { tries } = await change(changed);
    clock.nowMs += 59_000;
    expect(await tries()).toMatchObject({ result: 'no-fit' });
    clock.nowMs += 2_000;
    expect(await tries()).toMatchObject({ ok: true });
  });

  test('when it ends they are given at once', async () => {
    const { cluster, tries } = await change(held('3'));
    cluster.remove(PODS, held('3'));
    await cluster.settle();
    expect(await tries()).toMatchObject({ ok: true });
  });
});

describe('claims', () => {
  const claim = (uid: string, cpus: number, atMs = NOW_MS) =>
    formatClaims(new Map([[uid, { pod: 'default/other', zones: cpusOf(cpus), atMs }]]))!;

  test.each<[string, number, number]>([
    ['a young claim of a pod that nobody has seen', 0, 3_000],
    ['one of 29 minutes', 29 * 60_000, 3_000],
    ['one of 30 minutes, whose extender has ended', 30 * 60_000, 0],
  ])('given %s: it counts or not, without any event', async (_name, passMs, want) => {
    const { extender } = await start({ annotations: { [CLAIMS]: claim('x', 3) } });
    const used = () => extender.state.usedWithout('n', new Set()).get('node0')?.get('cpu') ?? 0;
    expect(used()).toBe(3_000);
    clock.nowMs += passMs;
    expect(used()).toBe(want);
  });

  test.each<[string, PodShape | undefined, number]>([
    ['is gone', undefined, 0],
    ['waits still', { uid: 'x' }, 0],
    ['has another uid', { uid: 'y' }, 0],
    ['was bound elsewhere', { uid: 'x', node: 'other' }, 0],
    ['was bound and has ended', { uid: 'x', node: 'n', phase: 'Succeeded', annotations: { [RESULT]: resultText({ node0: 3 }) } }, 0],
    ['was bound, and says no zones any more', { uid: 'x', node: 'n' }, 0],
    ['runs there on its zones', { uid: 'x', node: 'n', phase: 'Running', annotations: { [RESULT]: resultText({ node0: 3 }) } }, 3_000],
  ])('given a claim of two minutes whose pod %s: a check decides if it counts', async (_name, shape, want) => {
    const rig = await start({ annotations: { [CLAIMS]: claim('x', 3) } });
    if (shape) put(rig.cluster, '3', { name: 'other', ...shape });
    // Its watch has not come to the pod.
    const isHeld = () => true;
    const check = async () => {
      const done = rig.extender.checkClaims();
      await rig.cluster.settle(isHeld);
      await done;
      return rig.extender.state.usedWithout('n', new Set()).get('node0')?.get('cpu') ?? 0;
    };
    expect(await check()).toBe(3_000); // too young to be checked
    clock.nowMs += 120_000;
    expect(await check()).toBe(want);
    await rig.cluster.settle();
    expect(rig.extender.state.usedWithout('n', new Set()).get('node0')?.get('cpu') ?? 0).toBe(want);
  }); // prettier-ignore

  test('given claims of pods that are seen: they are removed after a minute, with the next claim', async () => {
    const rig = await start();
    await bind(rig, put(rig.cluster, '1', { uid: 'a', name: 'a' }));
    clock.nowMs += 50_000;
    await bind(rig, put(rig.cluster, '1', { uid: 'b', name: 'b' }));
    expect(Object.keys(claimsOf(rig.cluster))).toEqual(['a', 'b']);
    clock.nowMs += 20_000;
    await bind(rig, put(rig.cluster, '1', { uid: 'c', name: 'c' }));
    expect(Object.keys(claimsOf(rig.cluster))).toEqual(['b', 'c']);
    rig.cluster.remove(PODS, podObject([], { name: 'b' }));
    await rig.cluster.settle();
    await bind(rig, put(rig.cluster, '1', { uid: 'd', name: 'd' }));
    expect(Object.keys(claimsOf(rig.cluster))).toEqual(['c', 'd']);
  });

  test('given a forged result on a bound pod: it takes no more than the pod requests', async () => {
    const rig = await start();
    put(rig.cluster, '500m', { uid: 'x', name: 'x', node: 'n', annotations: { [RESULT]: resultText({ node0: 999 }) } });
    await rig.cluster.settle();
    expect(await bind(rig, put(rig.cluster, '4'))).toMatchObject({ grants: [{ zone: 'node1' }] });
    expect(await bind(rig, put(rig.cluster, '3', { uid: 'b', name: 'b' }))).toMatchObject({
      grants: [{ zone: 'node0' }],
    });
  });

  test('given an answer to a claim that is older than what the watch has shown: the newer one counts', async () => {
    const rig = await start();
    const { state } = rig.extender;
    const before = state.topologyOf('n')!;
    rig.cluster.put(TOPOLOGIES, topologyObject({ name: 'n', zones: ['2', '2'] }));
    await rig.cluster.settle();
    state.noteTopology(before);
    expect(state.topologyOf('n')?.offer.zones[0]?.allocatable.get('cpu')).toBe(2_000);
  });
});
