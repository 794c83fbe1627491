import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pino from 'pino';
import { Alarms } from '../../src/app/alarms/alarms';
import { Faults } from '../../src/app/alarms/faults';
import { Cluster } from '../../src/app/qos/cluster';
import { KubeClient, MERGE_PATCH } from '../../src/kube/api/kube-client';
import { KubeError } from '../../src/kube/api/kube-error';
import { asArray, asObject, asString, type JsonObject } from '../../src/kube/json';
import { evictPod } from '../../src/kube/qos/evict-pod';
import { toNodeState, writeElasticResources } from '../../src/kube/qos/node-resources';
import { interferenceCondition, setInterferenceTaint } from '../../src/kube/qos/node-taint';
import { QosObjects } from '../../src/kube/qos/watch-objects';
import { EventRecorder } from '../../src/kube/reporting/event-recorder';
import type { NodeQos } from '../../src/qos/objects/objects';
import { readRightsOf, rightOf } from '../support/kube/rbac';
import { other, own, predictionTemplate, samples, wrong } from './qos-samples';
import { waitUntil } from './rig';
import { type ApiServer, requireApiServer, startApiServer } from './rig/api-server';
import { projectRoot } from './rig/project-root';

// The agent half of Crane on a real API server: the definitions and the rights of deploy, and everything that
// src/kube/qos writes, with a token of the service account that is bound to a Node. There is no kubelet and no
// controller: what they would write is written by the administrator.

const run = promisify(execFile);
const deploy = join(projectRoot(), 'deploy');
const strictly = ['--validate=strict', '--warnings-as-errors'];
const account = 'system:serviceaccount:cpusetd:cpusetd';
const NODES = '/api/v1/nodes';
const PODS = '/api/v1/namespaces/cpusetd/pods';
const BUDGETS = '/apis/policy/v1/namespaces/cpusetd/poddisruptionbudgets';

jest.setTimeout(300_000);

requireApiServer()('rules, evictions and what is lent, on a real API server', () => {
  let api: ApiServer;
  let admin: KubeClient;
  let agent: KubeClient;
  let kubeconfig: string;
  /** The number of requests before the first test: then the rights were not in force yet. */
  let before: number;
  let end: AbortController;
  const log = pino({ level: 'silent' });

  /** Gives its standard output. @throws unless it exits with 0 */
  const kubectl = async (...args: string[]): Promise<string> =>
    (await run(join(api.programs, 'kubectl'), ['--kubeconfig', api.kubeconfigs.admin, ...args])).stdout;
  const read = async (path: string): Promise<JsonObject> => asObject(await admin.send({ method: 'GET', path }));
  const nodeNow = (name = own): Promise<JsonObject> => read(`${NODES}/${name}`);
  const create = (path: string, body: object): Promise<unknown> => admin.send({ method: 'POST', path, body });
  const patch = (path: string, body: object, as = admin): Promise<unknown> =>
    as.send({ method: 'PATCH', path, contentType: MERGE_PATCH, body });

  beforeAll(async () => {
    end = new AbortController();
    api = await startApiServer();
    admin = new KubeClient({ kind: 'file', path: api.kubeconfigs.admin }, end.signal);
    const files = [
      ...['namespace/namespace.yaml', 'base/service-account.yaml'],
      ...['api-server', 'qos'].flatMap((name) =>
        ['rbac.yaml', 'validating-admission-policy.yaml'].map((file) => `components/${name}/${file}`),
      ),
    ];
    await kubectl('apply', ...strictly, ...files.flatMap((name) => ['-f', join(deploy, name)]));
    for (const name of [own, other])
      await create(NODES, { metadata: { name }, status: { capacity: { cpu: '8' }, allocatable: { cpu: '7' } } });
    const bound = ['--bound-object-kind', 'Node', '--bound-object-name', own];
    const token = await kubectl('create', 'token', 'cpusetd', '--namespace', 'cpusetd', ...bound);
    kubeconfig = writeKubeconfig(api, token.trim());
    agent = new KubeClient({ kind: 'file', path: kubeconfig }, end.signal);
    await waitUntil('the policies are in force', async () => {
      const tries = [
        patch(`${NODES}/${other}`, { metadata: { annotations: { a: 'b' } } }, agent),
        patch(`${NODES}/${own}`, { spec: { unschedulable: true } }, agent),
      ];
      const outcomes = await Promise.all(tries.map(outcome));
      await patch(`${NODES}/${own}`, { spec: { unschedulable: null } });
      return outcomes.every((text) => text.includes('denied request'));
    });
    before = readAuditLog(api).length;
  });
  afterAll(async () => {
    end?.abort();
    await api?.stop();
  });

  describe('the definitions', () => {
    let objects: QosObjects<JsonObject>;
    let following: Promise<void>;
    let stop: AbortController;
    const names = ['nodeqoss', 'podqoss', 'avoidanceactions'].map((name) => `${name}.ensurance.crane.io`);
    const all = [...names, 'timeseriespredictions.prediction.crane.io'];
    beforeAll(() => {
      stop = new AbortController();
      objects = new QosObjects<JsonObject>({
        client: new KubeClient({ kind: 'file', path: kubeconfig }, stop.signal),
        nodeName: own,
        readers: {
          nodeQos: (object) => ({ ok: true, value: asObject(object) as unknown as NodeQos }),
          podQos: (object) => ({ ok: true, value: asObject(object) as never }),
          action: (object) => ({ ok: true, value: asObject(object) as never }),
          prediction: asObject,
          pod: (object) => asObject(object) as never,
        },
        log,
        signal: stop.signal,
        unknownMs: 200,
      });
      following = objects.run();
    });
    afterAll(async () => {
      stop?.abort();
      await following;
    });

    test('before they are applied: each kind is unknown, and the reason says what to do; the pods are known', async () => {
      const { nodeQos, podQos, actions, predictions } = objects;
      await waitUntil('the answers', () => ofRules().every(({ isDefined }) => !isDefined));
      expect([nodeQos, podQos, actions, predictions].map(({ isSynced }) => isSynced)).toEqual(Array(4).fill(false));
      expect(objects.nodeQos.reason).toBe(
        'the API server does not know NodeQOS of ensurance.crane.io/v1alpha1 (404): apply its definition from deploy/crds',
      );
      await waitUntil('the pods', () => objects.pods.isSynced && objects.pods.newsAgeMs === 0);
    });

    test('they are accepted, a second time nothing changes, and the kinds have Crane’s names', async () => {
      const files = all.flatMap((name) => ['-f', join(deploy, 'crds', `${name}.yaml`)]);
      await kubectl('apply', ...strictly, ...files);
      expect((await kubectl('apply', ...strictly, ...files)).trim().split('\n').sort()).toEqual(
        all.map((name) => `customresourcedefinition.apiextensions.k8s.io/${name} unchanged`).sort(),
      );
      const crds = all.map((name) => `customresourcedefinition/${name}`);
      await kubectl('wait', '--for=condition=Established', '--timeout=60s', ...crds);
      for (const short of ['nq', 'pq', 'avoid', 'tsp']) await kubectl('get', short, '--all-namespaces');
    });

    test('then they are known without a restart', async () => {
      await waitUntil('all are current', () =>
        [...ofRules(), objects.pods].every(({ isDefined, newsAgeMs }) => isDefined && newsAgeMs === 0),
      );
      expect(ofRules().map(({ reason }) => reason)).toEqual(['', '', '', '']);
    });

    test('objects like those of Crane’s pages are accepted, with the defaults; they are followed', async () => {
      for (const object of samples) await apply(object);
      expect((await read('/apis/ensurance.crane.io/v1alpha1/nodeqoss/eviction-on-high-usage'))['spec']).toEqual({
        nodeQualityProbe: { nodeLocalGet: { localCacheTTLSeconds: 60 }, timeoutSeconds: 10 },
        selector: { matchLabels: { pool: 'batch' } },
        rules: [
          {
            name: 'cpu-usage',
            metricRule: { name: 'cpu_total_usage', value: 5000 },
            avoidanceThreshold: 2,
            restoreThreshold: 1,
            actionName: 'eviction',
            strategy: 'None',
          },
          {
            name: 'memory-usage',
            metricRule: {
              name: 'memory_total_usage',
              value: '50Gi',
              selector: { matchExpressions: [{ key: 'a', operator: 'Exists' }] },
            },
            avoidanceThreshold: 1,
            restoreThreshold: 1,
            actionName: 'throttle',
            strategy: 'Preview',
          },
        ],
      });
      expect((await read('/apis/ensurance.crane.io/v1alpha1/avoidanceactions/disable-scheduling'))['spec']).toEqual({
        description: 'keeps new pods off the node',
        coolDownSeconds: 300,
      });
      await waitUntil('they are followed', () => {
        const { nodeQos, podQos, actions, predictions } = objects;
        const counts = [nodeQos, podQos, actions, predictions].map(({ objects: { length } }) => length);
        return counts.join() === '1,1,3,1';
      });
      // There are two predictions; the other one is for another node.
      expect(asObject(objects.predictions.objects[0]!['metadata'])['name']).toBe(`noderesource-${own}`);
    });

    test.each(wrong)('%s is refused', async (_what, object, because) => {
      await expect(apply(object)).rejects.toMatchObject({ stderr: expect.stringContaining(because) as unknown });
    });

    test('the status of a prediction is written apart, as Crane’s predictor does', async () => {
      const path = `/apis/prediction.crane.io/v1alpha1/namespaces/crane-system/timeseriespredictions/noderesource-${own}`;
      const status = {
        conditions: [{ type: 'Ready', status: 'True', reason: 'Known', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }], // prettier-ignore
        predictionMetrics: [
          { resourceIdentifier: 'cpu', prediction: [{ labels: [], samples: [{ timestamp: 1, value: '1.5' }] }] },
        ],
      };
      await patch(path, { status });
      expect(await read(path)).not.toHaveProperty('status');
      await patch(`${path}/status`, { status });
      expect(await read(path)).toMatchObject({ status });
      await waitUntil('it is followed', () => objects.predictions.objects[0]?.['status'] !== undefined);
    });

    test('it is asked for by the template of the cluster, created, updated and read, each with the rights of the component', async () => {
      const path = `/apis/prediction.crane.io/v1alpha1/namespaces/crane-system/timeseriespredictions/noderesource-${own}`;
      await admin.send({ method: 'DELETE', path });
      const daemon = new AbortController();
      const alarms = new Alarms({ log, now: () => '', onChange: () => undefined });
      const cluster = new Cluster({
        client: new KubeClient({ kind: 'file', path: kubeconfig }, daemon.signal),
        nodeName: own,
        log,
        signal: daemon.signal,
        now: () => new Date().toISOString(),
        follows: { rules: false, predictions: true },
        alarms,
        asksForPrediction: { faults: new Faults({ log, alarms }) },
      });
      const running = cluster.run();
      const specNow = async (): Promise<JsonObject> => {
        const found = await read(path).catch(() => undefined);
        return asObject(asObject(found)['spec']);
      };
      const data = (seconds: number) => ({ spec: predictionTemplate.replace('3600', String(seconds)) });
      const configMaps = '/api/v1/namespaces/crane-system/configmaps';
      await create(configMaps, { metadata: { name: 'noderesource-tsp-template' }, data: data(3600) });
      await waitUntil('it is created', async () => (await specNow())['predictionWindowSeconds'] === 3600);
      const expressionQuery = { expression: `sum(node_cpu_seconds_total{instance=~"(${own})(:\\\\d+)?"})` };
      const targetRef = { kind: 'Node', apiVersion: 'v1', name: own };
      expect(await specNow()).toMatchObject({ targetRef, predictionMetrics: [{ expressionQuery }] });
      await patch(`${configMaps}/noderesource-tsp-template`, { data: data(7200) });
      await waitUntil('it is updated', async () => (await specNow())['predictionWindowSeconds'] === 7200);
      await waitUntil('it is followed', () => cluster.prediction?.target === own);
      const { generation } = asObject((await read(path))['metadata']);
      expect(generation).toBe(2); // one write for each change of the template
      daemon.abort();
      await running;
    });

    test.each`
      what                                | name                       | target
      ${'for another node'}               | ${`noderesource-${other}`} | ${other}
      ${'of any other name'}              | ${'mine'}                  | ${own}
      ${'about another node, as its own'} | ${`noderesource-${own}`}   | ${other}
    `('with the policies, cpusetd may not write a prediction $what', async (row) => {
      const { name, target } = row as { name: string; target: string };
      const path = '/apis/prediction.crane.io/v1alpha1/namespaces/crane-system/timeseriespredictions';
      const spec = { targetRef: { kind: 'Node', name: target }, predictionWindowSeconds: 1 };
      const because = `may write the prediction of that node only, crane-system/noderesource-${own}`;
      const metadata = { name };
      const body = { apiVersion: 'prediction.crane.io/v1alpha1', kind: 'TimeSeriesPrediction', metadata, spec };
      if (name === 'mine') expect(await outcome(agent.send({ method: 'POST', path, body }))).toContain(because);
      else expect(await outcome(patch(`${path}/${name}`, { spec }, agent))).toContain(because);
    });

    const ofRules = () => [objects.nodeQos, objects.podQos, objects.actions, objects.predictions];
    const apply = async (object: object): Promise<void> => {
      const file = join(api.work, 'object.json');
      writeFileSync(file, JSON.stringify(object));
      await kubectl('apply', ...strictly, '-f', file);
    };
  });

  describe('the taint', () => {
    const taintsOf = (node: JsonObject): readonly unknown[] => asArray(asObject(node['spec'])['taints']);
    const taintsNow = async (): Promise<JsonObject[]> => taintsOf(await nodeNow()).map(asObject);
    const keysNow = async (): Promise<string[]> => (await taintsNow()).map(({ key }) => asString(key)).sort();
    /** As another controller does. */
    const addForeign = async (key: string): Promise<void> => {
      const node = await nodeNow();
      const { resourceVersion } = asObject(node['metadata']);
      const taints = [...taintsOf(node), { key, effect: 'NoExecute', value: 'x' }];
      try {
        await patch(`${NODES}/${own}`, { metadata: { resourceVersion }, spec: { taints } });
      } catch (error) {
        if (!(error instanceof KubeError && error.status === 409)) throw error;
        await addForeign(key);
      }
    };

    test('it is added beside those of others, once, and removed alone', async () => {
      const before = await taintsNow();
      expect(before).toEqual([{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }]); // of the API server itself
      expect(await setInterferenceTaint(agent, own, true)).toMatchObject({ changed: true });
      expect(await setInterferenceTaint(agent, own, true)).toMatchObject({ changed: false });
      expect(await taintsNow()).toEqual([...before, { key: 'interference.crane.io', effect: 'PreferNoSchedule' }]);
      expect(toNodeState(await nodeNow()).isTainted).toBe(true);
      expect(await setInterferenceTaint(agent, own, false)).toMatchObject({ changed: true });
      expect(await setInterferenceTaint(agent, own, false)).toMatchObject({ changed: false });
      expect(await taintsNow()).toEqual(before);
    });

    test('given another writer between read and write, the server answers 409, and the second try has both taints', async () => {
      let writes = 0;
      const send: KubeClient['send'] = async (call) => {
        if (call.method === 'PATCH' && writes++ === 0) await addForeign('in-between');
        return agent.send(call);
      };
      expect(await setInterferenceTaint({ send }, own, true)).toMatchObject({ changed: true });
      expect(writes).toBe(2);
      expect(await keysNow()).toEqual(['in-between', 'interference.crane.io', 'node.kubernetes.io/not-ready']);
    });

    test('given another writer at the same time, no taint is lost', async () => {
      const keys = Array.from({ length: 10 }, (_, i) => `taint-${i}`);
      const addAll = async (): Promise<void> => {
        for (const key of keys) await addForeign(key);
      };
      let changes = 0;
      const toggle = async (): Promise<void> => {
        for (let i = 0; i < 10; i++)
          await setInterferenceTaint(agent, own, i % 2 === 1).then(
            ({ changed }) => (changes += Number(changed)),
            (error: unknown) => expect(error).toMatchObject({ status: 409 }), // three conflicts in a row
          );
      };
      await Promise.all([addAll(), toggle()]);
      await setInterferenceTaint(agent, own, false);
      expect(changes).toBeGreaterThan(0);
      expect(await keysNow()).toEqual(['in-between', 'node.kubernetes.io/not-ready', ...keys].sort());
    });

    test.each`
      what                      | node   | spec                                               | because
      ${'to cordon its Node'}   | ${own} | ${{ unschedulable: true }}                         | ${'cpusetd may not cordon a Node'}
      ${'to add another taint'} | ${own} | ${{ taints: [{ key: 'a', effect: 'NoExecute' }] }} | ${'cpusetd may only add and remove the taint interference.crane.io'}
      ${'to remove all taints'} | ${own} | ${{ taints: null }}                                | ${'cpusetd may only add and remove the taint interference.crane.io'}
    `(
      'with the policies, cpusetd may not use its rights $what',
      async ({ node, spec, because }: { node: string; spec: object; because: string }) => {
        expect(await outcome(patch(`${NODES}/${node}`, { spec }, agent))).toContain(because);
      },
    );

    test('with the policies, the effect of its taint is PreferNoSchedule only, and its Node is its own', async () => {
      const withEffect = async (effect: string): Promise<string> => {
        const taints = [...taintsOf(await nodeNow()), { key: 'interference.crane.io', effect }];
        return outcome(patch(`${NODES}/${own}`, { spec: { taints } }, agent));
      };
      expect(await withEffect('NoExecute')).toContain('with the effect PreferNoSchedule');
      expect(await withEffect('PreferNoSchedule')).toBe('accepted');
      await setInterferenceTaint(agent, own, false);
      expect(await outcome(setInterferenceTaint(agent, other, true))).toContain(
        `cpusetd on node ${own} may write the objects of that node only, not those of ${other}`,
      );
    });
  });

  test('the condition is written beside others', async () => {
    let isIdentified = true;
    const stop = new AbortController();
    const condition = interferenceCondition({
      client: agent,
      nodeName: own,
      state: () => ({ isIdentified, reason: 'Triggered', message: 'rules/cpu triggered action evict' }),
      log,
      signal: stop.signal,
      now: () => new Date().toISOString(),
      debounceMs: 1,
    });
    const ofType = async (type: string): Promise<unknown> =>
      asArray(asObject((await nodeNow())['status'])['conditions'])
        .map(asObject)
        .find((each) => each['type'] === type)?.['status'];
    await patch(`${NODES}/${own}/status`, { status: { conditions: [{ type: 'Ready', status: 'True' }] } });
    condition.touch();
    await waitUntil('the condition', async () => (await ofType('interference-identified')) === 'True');
    isIdentified = false;
    condition.touch();
    await waitUntil('the change', async () => (await ofType('interference-identified')) === 'False');
    expect(await ofType('Ready')).toBe('True');
    stop.abort();
  });

  test('what is lent is written, read back, changed and removed, and nothing else of the status changes', async () => {
    const amounts = async () => {
      const { capacity, allocatable } = asObject((await nodeNow())['status']);
      return [capacity, allocatable];
    };
    const before = await amounts();
    await writeElasticResources(agent, own, { milliCpu: 2999, memoryBytes: 5_000_000_000 });
    expect(toNodeState(await nodeNow()).lent).toEqual({ milliCpu: 2000, memoryBytes: 5_000_000_000 });
    await writeElasticResources(agent, own, { milliCpu: 0 });
    expect(toNodeState(await nodeNow()).lent).toEqual({ milliCpu: 0 });
    for (let times = 0; times < 2; times++) await writeElasticResources(agent, own, {});
    expect(await amounts()).toEqual(before);
  });

  test('the API server refuses a part of a CPU, so that whole ones are written', async () => {
    const capacity = { 'gocrane.io/cpu': '1500m' };
    expect(await outcome(patch(`${NODES}/${own}/status`, { status: { capacity } }))).toContain('must be an integer');
  });

  test('Events on the Node are those that `kubectl describe node` shows, counted up', async () => {
    const stop = new AbortController();
    const recorder = new EventRecorder({
      client: agent,
      nodeName: own,
      log,
      signal: stop.signal,
      now: () => new Date().toISOString(),
      gatherMs: 10,
    });
    const events = async (): Promise<JsonObject[]> =>
      asArray((await read('/api/v1/namespaces/default/events'))['items'])
        .map(asObject)
        .filter(({ reason }) => reason === 'AvoidanceTriggered');
    const record = (): void =>
      recorder.record({ node: own, type: 'Warning', reason: 'AvoidanceTriggered', message: 'rules/cpu triggered' });
    record();
    await waitUntil('the Event', async () => (await events()).length === 1);
    record();
    await waitUntil('the second', async () => (await events())[0]?.['count'] === 2);
    expect(await kubectl('describe', 'node', own)).toMatch(
      /Warning +AvoidanceTriggered +.*\(x2 over .*\) +cpusetd +rules\/cpu triggered/,
    );
    stop.abort();
  });

  describe('evictions', () => {
    /** A pod as it is when the kubelet runs it. */
    const runPod = async (
      name: string,
      labels: object = {},
    ): Promise<{ name: string; namespace: string; uid: string }> => {
      const spec = { nodeName: own, serviceAccountName: 'cpusetd', containers: [{ name: 'main', image: 'none' }] };
      const { metadata } = asObject(await create(PODS, { metadata: { name, labels }, spec }));
      const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
      await patch(`${PODS}/${name}/status`, { status });
      return { name, namespace: 'cpusetd', uid: asString(asObject(metadata)['uid']) };
    };
    /** A budget as it is when the controller has counted its one pod, which it needs. */
    const addBudget = async (name: string, app: string): Promise<void> => {
      const spec = { minAvailable: 1, selector: { matchLabels: { app } } };
      await create(BUDGETS, { metadata: { name }, spec });
      const counted = { currentHealthy: 1, desiredHealthy: 1, expectedPods: 1, disruptionsAllowed: 0 };
      await patch(`${BUDGETS}/${name}/status`, { status: { observedGeneration: 1, ...counted } });
    };
    const podNow = async (name: string): Promise<JsonObject> => asObject((await read(`${PODS}/${name}`))['metadata']);

    test('a pod is deleted, with the grace period of its own or the given one', async () => {
      const [first, second] = [await runPod('first'), await runPod('second')];
      expect(await evictPod(agent, first)).toEqual({ kind: 'evicted' });
      expect(await podNow('first')).toMatchObject({ deletionGracePeriodSeconds: 30 });
      expect(await evictPod(agent, { ...second, graceSeconds: 7 })).toEqual({ kind: 'evicted' });
      expect(await podNow('second')).toMatchObject({ deletionGracePeriodSeconds: 7 });
    });

    test('another pod of the name stays; a pod that is gone is gone', async () => {
      const pod = await runPod('third');
      expect(await evictPod(agent, { ...pod, uid: '00000000-0000-0000-0000-000000000000' })).toEqual({
        kind: 'gone',
        because: 'another pod has its name now',
      });
      expect(await podNow('third')).not.toHaveProperty('deletionTimestamp');
      expect(await evictPod(agent, { ...pod, name: 'never' })).toMatchObject({ kind: 'gone' });
    });

    test('a disruption budget that allows none: it is refused, and the reason names the budget', async () => {
      const pod = await runPod('web', { app: 'web' });
      await addBudget('web', 'web');
      expect(await evictPod(agent, pod)).toEqual({
        kind: 'refused',
        because: 'The disruption budget web needs 1 healthy pods and has 1 currently',
      });
      expect(await podNow('web')).not.toHaveProperty('deletionTimestamp');
      await patch(`${BUDGETS}/web/status`, { status: { currentHealthy: 2, disruptionsAllowed: 1 } });
      expect(await evictPod(agent, pod)).toEqual({ kind: 'evicted' });
    });

    test('two disruption budgets: it is refused', async () => {
      const pod = await runPod('twice', { app: 'twice' });
      for (const name of ['one', 'two']) await addBudget(name, 'twice');
      expect(await evictPod(agent, pod)).toEqual({
        kind: 'refused',
        because: 'the pod has more than one PodDisruptionBudget, so the API server does not evict it',
      });
      expect(await podNow('twice')).not.toHaveProperty('deletionTimestamp');
    });
  });

  test('all in all: each right of the component was used, and no right was missing', async () => {
    const requests = () => readAuditLog(api).slice(before);
    const used = (): string[] => [...new Set(requests().map(({ right }) => right))];
    const wanted = [...readRightsOf('components/qos/rbac.yaml')].sort();
    await waitUntil('all of them', () => wanted.every((right) => used().includes(right)));
    const ofOtherComponent = ['/nodes watch', '/pods list', '/pods watch'];
    expect(used().sort()).toEqual([...wanted, ...ofOtherComponent].sort());
    expect(requests().filter(({ code }) => code === 403)).toEqual([]);
  });
});

/** `accepted`, or the message of the refusal. */
const outcome = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'accepted',
    (error: unknown) => (error as Error).message,
  );

function writeKubeconfig({ server, work }: ApiServer, token: string): string {
  const path = join(work, 'agent.kubeconfig');
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server, 'certificate-authority': join(work, 'ca.crt') } }],
    users: [{ name: 'cpusetd', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'cpusetd' } }],
    'current-context': 'test',
  };
  writeFileSync(path, JSON.stringify(kubeconfig), { mode: 0o600 });
  return path;
}

/** The requests of the service account by the right that each needs, with the status of the answer. */
function readAuditLog({ auditLog }: ApiServer): { readonly right: string; readonly code: number }[] {
  const lines = readFileSync(auditLog, 'utf8').split('\n').slice(0, -1);
  return lines.flatMap((line) => {
    const { user, verb, objectRef, responseStatus } = asObject(JSON.parse(line));
    if (asObject(user)['username'] !== account) return [];
    const { apiGroup, resource, subresource } = asObject(objectRef);
    const sub = asString(subresource) === '' ? '' : `/${asString(subresource)}`;
    const right = rightOf({ resource: `${asString(apiGroup)}/${asString(resource)}${sub}`, verb: asString(verb) });
    return [{ right, code: Number(asObject(responseStatus)['code']) }];
  });
}
