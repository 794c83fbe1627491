import { pino } from 'pino';
import { PodIngest } from '../../../src/app/apiserver/pod-ingest';
import { Transactor } from '../../../src/app/transaction/transactor';
import type { Assignment } from '../../../src/core/model/assignment';
import { NodeModel } from '../../../src/core/model/node-model';
import type { PodSpec } from '../../../src/core/model/pod-spec';
import { cpus, EIGHT_CPUS, podOf, resourcesOf, settingsWith } from '../../core/transition/node-driver';
import { waitUntil } from '../../support/wait-until';

const specOf = (uid: string, more: Partial<PodSpec> = {}): PodSpec => ({
  uid,
  namespace: 'ns',
  name: uid,
  annotations: {},
  qos: 'Guaranteed',
  finished: false,
  containers: [],
  ...more,
});

/** A node that keeps CPUs 1-2 for the pod `p`. `synchronize` lists the pods of the runtime. */
function startNode() {
  const model = new NodeModel(EIGHT_CPUS, settingsWith());
  const saved: string[][] = [];
  const transactor = new Transactor({
    model,
    save: ({ assignments }) => void saved.push([...assignments].map(({ podUid }) => podUid)),
    mover: { move: () => undefined },
    now: () => '2026-11-21T00:00:00Z',
    log: pino({ level: 'silent' }),
  });
  const pods = new PodIngest({ transactor, signal: new AbortController().signal });
  const synchronize = (uids: readonly string[]) =>
    transactor.handle({ kind: 'synchronize', pods: uids.map((uid) => podOf(uid)), containers: [] });
  const remember = (podUid: string) => model.apply({ kind: 'put-assignment', assignment: assignmentOf(podUid) });
  return { model, saved, pods, transactor, synchronize, remember };
}

function assignmentOf(podUid: string): Assignment {
  return {
    podUid,
    podNamespace: 'ns',
    podName: podUid,
    containerName: 'app',
    kind: 'static',
    cpus: cpus('1-2'),
    mems: cpus(''),
    requested: 2,
    containerId: null,
    quotaLifted: false,
    rules: { policy: 'static', options: [], reserved: cpus('0') },
    because: 'for the test',
    since: '2026-11-21T00:00:00Z',
  };
}

test('pod specs are kept until the API server deletes them, and are not saved', () => {
  const { model, pods, saved } = startNode();
  pods.onList([specOf('a'), specOf('b')]);
  pods.onPod(specOf('c'));
  pods.onPod(specOf('a', { finished: true }));
  pods.onGone('b');
  pods.onGone('unheard-of');
  expect([...model.podSpecs.values()].map(({ uid, finished }) => `${uid} ${finished}`)).toEqual(['a true', 'c false']);
  pods.onList([specOf('c')]);
  expect([...model.podSpecs.keys()]).toEqual(['c']);
  expect(saved).toEqual([]);
});

describe('the CPUs of a pod that ended unseen', () => {
  test('are released durably when neither the API server nor the runtime has the pod', () => {
    const { model, pods, saved, synchronize, remember } = startNode();
    synchronize([]);
    remember('p');
    pods.onList([specOf('other')]);
    expect(model.assignments.size).toBe(0);
    expect(saved.at(-1)).toEqual([]);
  });

  test.each`
    name                                         | listed             | inRuntime | synchronized
    ${'the API server has the pod'}              | ${[specOf('p')]}   | ${[]}     | ${true}
    ${'the runtime has the pod'}                 | ${[]}              | ${['p']}  | ${true}
    ${'the runtime has not listed its pods yet'} | ${[]}              | ${[]}     | ${false}
    ${'the API server has the mirror pod'}       | ${[mirrorOf('p')]} | ${[]}     | ${true}
  `(
    'are kept while $name',
    ({ listed, inRuntime, synchronized }: { listed: PodSpec[]; inRuntime: string[]; synchronized: boolean }) => {
      const { model, pods, synchronize, remember } = startNode();
      if (synchronized) synchronize(inRuntime);
      remember('p');
      pods.onList(listed);
      expect(model.assignments.size).toBe(1);
    },
  );

  test('are released by a deletion of that pod alone', () => {
    const { model, pods, synchronize, remember } = startNode();
    synchronize([]);
    remember('p');
    pods.onGone('other');
    expect(model.assignments.size).toBe(1);
    pods.onGone('p');
    expect(model.assignments.size).toBe(0);
  });
});

describe('while the disk is full', () => {
  /** A shared container whose pod may choose a policy. The disk is full until the test empties it. */
  function startFullDisk() {
    const model = new NodeModel(EIGHT_CPUS, settingsWith({ podPolicies: ['exclusive'] }));
    const disk = { isFull: false };
    const transactor = new Transactor({
      model,
      save: () => (disk.isFull ? { because: 'no space left on device', onDisk: 'old' as const } : undefined),
      mover: { move: () => undefined },
      now: () => '2026-11-21T00:00:00Z',
      log: pino({ level: 'silent' }),
    });
    const end = new AbortController();
    const pods = new PodIngest({ transactor, signal: end.signal, retryMs: 10 });
    transactor.handle({ kind: 'synchronize', pods: [], containers: [] });
    const container = {
      id: 'c', sandboxId: 'sandbox-p', name: 'app', phase: 'creating', cgroupsPath: '/x', resources: resourcesOf(2),
    } as const; // prettier-ignore
    const pod = { ...podOf('p'), cgroupParent: '/kubepods/burstable/podp' };
    transactor.handle({ kind: 'create-container', pod, container });
    disk.isFull = true;
    return { model, pods, disk, end };
  }
  const choosing = specOf('p', {
    qos: 'Burstable',
    annotations: { 'cpusetd.io/policy': 'exclusive' },
    containers: [{ name: 'app', kind: 'app', ended: false, requestMilliCpu: 2000, limitMilliCpu: 2000 }],
  });

  test.each`
    how            | ingest
    ${'as a pod'}  | ${(pods: PodIngest) => pods.onPod(choosing)}
    ${'as a list'} | ${(pods: PodIngest) => pods.onList([choosing])}
  `(
    'a switch that comes $how is not made until there is space',
    async ({ ingest }: { ingest: (pods: PodIngest) => void }) => {
      const { model, pods, disk, end } = startFullDisk();
      ingest(pods);
      expect([model.assignments.size, model.containers.get('c')?.placement]).toEqual([0, 'shared']);
      disk.isFull = false;
      await waitUntil(() => model.assignments.size === 1);
      expect(model.containers.get('c')).toMatchObject({ placement: 'exclusive' });
      end.abort();
    },
  );

  test.each`
    how         | ingest
    ${'a pod'}  | ${(pods: PodIngest, spec: PodSpec) => pods.onPod(spec)}
    ${'a list'} | ${(pods: PodIngest, spec: PodSpec) => pods.onList([spec])}
  `(
    'CPUs of a new pod that comes $how are not planned until there is space',
    async ({ ingest }: { ingest: (pods: PodIngest, spec: PodSpec) => void }) => {
      const { model, pods, disk, end } = startFullDisk();
      ingest(pods, { ...choosing, uid: 'q', name: 'q' });
      expect([model.assignments.size, model.podSpecs.size]).toEqual([0, 0]);
      disk.isFull = false;
      await waitUntil(() => model.assignments.size === 1);
      expect(model.assignments.get('q/app')).toMatchObject({ planned: true, containerId: null });
      end.abort();
    },
  );

  test('a change of the pod meanwhile replaces the earlier one', async () => {
    const { model, pods, disk, end } = startFullDisk();
    pods.onList([choosing]);
    pods.onPod({ ...choosing, annotations: {} });
    disk.isFull = false;
    pods.onPod(specOf('q'));
    await waitUntil(() => model.podSpecs.size === 2);
    expect(model.assignments.size).toBe(0);
    end.abort();
  });
});

test('a running container keeps its CPUs when its pod is gone from the API server', () => {
  const { model, pods, transactor, synchronize } = startNode();
  synchronize(['p']);
  const container = {
    id: 'c', sandboxId: 'sandbox-p', name: 'app', phase: 'creating', cgroupsPath: '/x', resources: resourcesOf(2),
  } as const; // prettier-ignore
  transactor.handle({ kind: 'create-container', pod: podOf('p'), container });
  pods.onPod(specOf('p'));
  pods.onGone('p');
  pods.onList([]);
  expect([...model.assignments.values()].map((each) => each.cpus.toString())).toEqual(['1,5']);
});

function mirrorOf(uid: string): PodSpec {
  const annotations = { 'kubernetes.io/config.mirror': uid, 'kubernetes.io/config.hash': uid };
  return specOf(`mirror-of-${uid}`, { name: uid, annotations });
}

describe('large pods and frequent changes', () => {
  const containers = Array.from({ length: 300 }, (_, i) => ({ name: `c${i}`, kind: 'app' as const, ended: false }));

  /** Lists the events that reach the transactor. */
  function startCounting(paceMs = 20) {
    const handled: string[] = [];
    const end = new AbortController();
    const pods = new PodIngest({
      transactor: {
        handle: (event) => {
          if (event.kind === 'pod-spec') handled.push(event.spec.uid);
          else if (event.kind === 'pod-spec-gone') handled.push(`${event.uid} gone`);
          else if (event.kind === 'pod-specs') handled.push(`list of ${event.specs.length}`);
          return { kind: 'ok' };
        },
      },
      signal: end.signal,
      paceMs,
    });
    return { handled, pods, end };
  }

  test('a long list is handled pod by pod, one per turn, and then as a list', async () => {
    const { handled, pods } = startCounting();
    pods.onList(['c', 'a', 'b'].map((uid) => specOf(uid, { containers })));
    expect(handled).toEqual(['a']);
    pods.onGone('b');
    expect(handled).toEqual(['a', 'b gone']);
    await waitUntil(() => handled.length === 4);
    expect(handled).toEqual(['a', 'b gone', 'c', 'list of 2']);
  });

  test('a thousand changes of a pod in one turn are handled at once and then once more, with the last state', async () => {
    const { handled, pods } = startCounting();
    for (let i = 0; i < 1000; i++) pods.onPod(specOf('a', { annotations: { 'cpusetd.io/policy': `${i}` } }));
    pods.onPod(specOf('other'));
    expect(handled).toEqual(['a', 'other']);
    await waitUntil(() => handled.length === 3);
    expect(handled).toEqual(['a', 'other', 'a']);
  });

  test('an unchanged pod is not handled again', () => {
    const { handled, pods } = startCounting();
    pods.onList([specOf('a', { containers })]);
    pods.onPod(specOf('a', { containers: containers.map((each) => ({ ...each })) }));
    expect(handled).toEqual(['list of 1']);
  });

  test('after abort nothing is handled', async () => {
    const { handled, pods, end } = startCounting(1);
    pods.onList(['a', 'b'].map((uid) => specOf(uid, { containers })));
    pods.onPod(specOf('c'));
    pods.onPod(specOf('c', { finished: true }));
    end.abort();
    await new Promise((resolve) => setTimeout(resolve, 5)); // longer than the pace, so that a timer left over would have fired
    expect(handled).toEqual(['a', 'c']);
  });
});
