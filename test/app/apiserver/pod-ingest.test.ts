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

/** A node that remembers CPUs 1-2 of the pod `p`; the runtime tells what it has when `synchronize` is called. */
function startNode() {
  const model = new NodeModel(EIGHT_CPUS, settingsWith());
  const saved: string[][] = [];
  const transactor = new Transactor({
    model,
    save: (assignments) => void saved.push([...assignments].map(({ podUid }) => podUid)),
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

test('specs are remembered until the API server has them no more, and cost no write', () => {
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

describe('CPUs of a pod that has ended unseen', () => {
  test('go back when neither the API server nor the runtime has it, and that is durable', () => {
    const { model, pods, saved, synchronize, remember } = startNode();
    synchronize([]);
    remember('p');
    pods.onList([specOf('other')]);
    expect(model.assignments.size).toBe(0);
    expect(saved.at(-1)).toEqual([]);
  });

  test.each`
    name                                  | listed             | inRuntime | synchronized
    ${'the API server has it'}            | ${[specOf('p')]}   | ${[]}     | ${true}
    ${'the runtime has it'}               | ${[]}              | ${['p']}  | ${true}
    ${'nobody has asked the runtime yet'} | ${[]}              | ${[]}     | ${false}
    ${'the API server has its mirror'}    | ${[mirrorOf('p')]} | ${[]}     | ${true}
  `(
    'stay as long as $name',
    ({ listed, inRuntime, synchronized }: { listed: PodSpec[]; inRuntime: string[]; synchronized: boolean }) => {
      const { model, pods, synchronize, remember } = startNode();
      if (synchronized) synchronize(inRuntime);
      remember('p');
      pods.onList(listed);
      expect(model.assignments.size).toBe(1);
    },
  );

  test('a deletion that is told speaks of that pod only', () => {
    const { model, pods, synchronize, remember } = startNode();
    synchronize([]);
    remember('p');
    pods.onGone('other');
    expect(model.assignments.size).toBe(1);
    pods.onGone('p');
    expect(model.assignments.size).toBe(0);
  });
});

describe('a disk that takes nothing', () => {
  /** A shared container whose pod may choose; the disk is full until `free`. */
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
  const wish = specOf('p', {
    qos: 'Burstable',
    annotations: { 'cpusetd.io/policy': 'exclusive' },
    containers: [{ name: 'app', kind: 'app', ended: false, requestMilliCpu: 2000, limitMilliCpu: 2000 }],
  });

  test.each`
    how         | tell
    ${'a pod'}  | ${(pods: PodIngest) => pods.onPod(wish)}
    ${'a list'} | ${(pods: PodIngest) => pods.onList([wish])}
  `(
    'a switch told as $how is not made, and made when it does',
    async ({ tell }: { tell: (pods: PodIngest) => void }) => {
      const { model, pods, disk, end } = startFullDisk();
      tell(pods);
      expect([model.assignments.size, model.containers.get('c')?.placement]).toEqual([0, 'shared']);
      disk.isFull = false;
      await waitUntil(() => model.assignments.size === 1);
      expect(model.containers.get('c')).toMatchObject({ placement: 'exclusive' });
      end.abort();
    },
  );

  test.each`
    how         | tell
    ${'a pod'}  | ${(pods: PodIngest, spec: PodSpec) => pods.onPod(spec)}
    ${'a list'} | ${(pods: PodIngest, spec: PodSpec) => pods.onList([spec])}
  `(
    'a pod whose containers are to come, told as $how, has its CPUs planned when it does',
    async ({ tell }: { tell: (pods: PodIngest, spec: PodSpec) => void }) => {
      const { model, pods, disk, end } = startFullDisk();
      tell(pods, { ...wish, uid: 'q', name: 'q' });
      expect([model.assignments.size, model.podSpecs.size]).toEqual([0, 0]);
      disk.isFull = false;
      await waitUntil(() => model.assignments.size === 1);
      expect(model.assignments.get('q/app')).toMatchObject({ planned: true, containerId: null });
      end.abort();
    },
  );

  test('what is told meanwhile is what is made', async () => {
    const { model, pods, disk, end } = startFullDisk();
    pods.onList([wish]);
    pods.onPod({ ...wish, annotations: {} });
    disk.isFull = false;
    pods.onPod(specOf('q'));
    await waitUntil(() => model.podSpecs.size === 2);
    expect(model.assignments.size).toBe(0);
    end.abort();
  });
});

test('what runs of a pod that is gone from the API server keeps its CPUs', () => {
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

describe('tenants that have much to tell', () => {
  const containers = Array.from({ length: 300 }, (_, i) => ({ name: `c${i}`, kind: 'app' as const, ended: false }));

  /** Counts what is told, by kind and pod. */
  function startCounting(paceMs = 20) {
    const told: string[] = [];
    const end = new AbortController();
    const pods = new PodIngest({
      transactor: {
        handle: (event) => {
          if (event.kind === 'pod-spec') told.push(event.spec.uid);
          else if (event.kind === 'pod-spec-gone') told.push(`${event.uid} gone`);
          else if (event.kind === 'pod-specs') told.push(`list of ${event.specs.length}`);
          return { kind: 'ok' };
        },
      },
      signal: end.signal,
      paceMs,
    });
    return { told, pods, end };
  }

  test('a long list is told pod by pod, each in a turn of its own, and as a list when all had theirs', async () => {
    const { told, pods } = startCounting();
    pods.onList(['c', 'a', 'b'].map((uid) => specOf(uid, { containers })));
    expect(told).toEqual(['a']);
    pods.onGone('b');
    expect(told).toEqual(['a', 'b gone']);
    await waitUntil(() => told.length === 4);
    expect(told).toEqual(['a', 'b gone', 'c', 'list of 2']);
  });

  test('a pod that changes a thousand times in a moment is told at once, and then once more, as it is by then', async () => {
    const { told, pods } = startCounting();
    for (let i = 0; i < 1000; i++) pods.onPod(specOf('a', { annotations: { 'cpusetd.io/policy': `${i}` } }));
    pods.onPod(specOf('other'));
    expect(told).toEqual(['a', 'other']);
    await waitUntil(() => told.length === 3);
    expect(told).toEqual(['a', 'other', 'a']);
  });

  test('a pod that says the same as before is not told', () => {
    const { told, pods } = startCounting();
    pods.onList([specOf('a', { containers })]);
    pods.onPod(specOf('a', { containers: containers.map((each) => ({ ...each })) }));
    expect(told).toEqual(['list of 1']);
  });

  test('nothing is told any more when the daemon ends', async () => {
    const { told, pods, end } = startCounting(1);
    pods.onList(['a', 'b'].map((uid) => specOf(uid, { containers })));
    pods.onPod(specOf('c'));
    pods.onPod(specOf('c', { finished: true }));
    end.abort();
    await new Promise((resolve) => setTimeout(resolve, 5)); // longer than the pace: a timer that was left would have fired
    expect(told).toEqual(['a', 'c']);
  });
});
