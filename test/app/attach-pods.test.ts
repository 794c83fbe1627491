import { pino } from 'pino';
import { attachPods } from '../../src/app/attach-pods';
import { Transactor } from '../../src/app/transactor';
import type { Assignment } from '../../src/core/model/assignment';
import { NodeModel } from '../../src/core/model/node-model';
import type { PodSpec } from '../../src/core/model/pod-spec';
import { cpus, EIGHT_CPUS, podOf, resourcesOf, settingsWith } from '../core/transition/node-driver';

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
  const pods = attachPods({ transactor, signal: new AbortController().signal });
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
  return specOf(`mirror-of-${uid}`, { annotations });
}
