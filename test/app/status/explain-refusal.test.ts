import { explainRefusal } from '../../../src/app/status/explain-refusal';
import type { Refusal } from '../../../src/core/model/refusal';
import { describeRefusal } from '../../../src/core/transition';
import { buildTopology } from '../../../src/core/topology';
import type { CpuResources } from '../../../src/core/model/events';
import { NodeDriver, podOf, resourcesOf, without } from '../../core/transition/node-driver';
import { specOf } from '../../support/spec-of';

const REFUSAL: Refusal = {
  podUid: 'p',
  podNamespace: 'ns',
  podName: 'p',
  containerName: 'app',
  asked: 'creation',
  requested: 4,
  policy: 'static',
  code: 'RESOURCE_EXHAUSTED',
  because: 'asked for 4 exclusive CPUs, 1 can be given now',
  zones: [{ node: 0, allocatable: 7, free: 1 }],
  firstAt: '2026-11-22T10:00:00.000Z',
  lastAt: '2026-11-22T10:00:00.000Z',
  times: 1,
};

function explain(history: string, change: Partial<Refusal> = {}) {
  return explainRefusal(new NodeDriver().run(history).model, { ...REFUSAL, ...change });
}

test('a request that fits now has its CPUs and needs no remedy', () => {
  expect(explain('make q/a 2')).toMatchObject({
    now: expect.stringMatching(/^4 CPUs would fit: /),
    fitsNow: true,
    remedy: 'none is needed any more: the kubelet tries again by itself',
    zones: [{ node: 0, allocatable: 7, free: 1, freeNow: 5, podsNow: 1 }],
  });
});

test('a request that does not fit names the number of missing CPUs', () => {
  expect(explain('make q/a 6')).toMatchObject({
    now: expect.stringMatching(/^it would be refused: /),
    fitsNow: false,
    remedy: expect.stringMatching(/^3 more CPUs have to come free: /),
  });
});

test('a resize keeps the CPUs that it has, and leaves idle ones of its pod alone', () => {
  const change = { asked: 'change' } as const;
  expect(explain('make p/app 2; make p/b 2; end p/b; make q/a 2', change)).toMatchObject({
    now: expect.stringMatching(/^it would be refused: asked for 4 exclusive CPUs, 3 can be given now: 1 of 7 /),
    remedy: expect.stringMatching(/^1 more CPU has to come free: /),
  });
  expect(explain('make p/app 2; make p/b 2; end p/b', change)).toMatchObject({
    now: '4 CPUs would fit: 1,3,5,7',
    remedy: 'none is needed any more: the change has to be asked for again',
  });
  expect(explain('make p/app 1.5; make p/b 4; end p/b', change)).toMatchObject({ fitsNow: false });
});

test('a NUMA node that is gone has no free CPUs', () => {
  const node = new NodeDriver();
  node.setTopology(without(node.model.topology, '7'));
  const zones = [{ node: 5, allocatable: 4, free: 1 }];
  expect(explainRefusal(node.model, { ...REFUSAL, zones }).zones).toEqual([
    { node: 5, allocatable: 4, free: 1, freeNow: 0, podsNow: 0 },
  ]);
});

test.each<[string, Partial<Refusal>, RegExp]>([
  ['more CPUs than the node has', { requested: 9 }, /^this node has 7 CPUs to give out, and never 9/],
  ['a failed precondition', { code: 'FAILED_PRECONDITION' }, /^ask for what the reason says/],
  ['an invalid argument', { code: 'INVALID_ARGUMENT' }, /^correct the pod as the reason says/],
  ['an internal fault', { code: 'INTERNAL' }, /^look at the log of cpusetd/],
  ['a change while unavailable', { code: 'UNAVAILABLE', asked: 'change' }, /the change has to be asked for again when/],
])('%s has its own remedy', (_name, change, remedy) => {
  expect(explain('', change).remedy).toMatch(remedy);
});

/** The refusal of a creation that asks for 2 CPUs, and for this beside them. */
function refusalOf(node: NodeDriver, beside: CpuResources): Refusal {
  const pod = podOf('p');
  const resources = { ...resourcesOf(2), ...beside };
  const container = { id: 'c', sandboxId: pod.sandboxId, name: 'app', phase: 'creating', cgroupsPath: '' } as const;
  const event = { kind: 'create-container', pod, container: { ...container, resources } } as const;
  const answer = { kind: 'refuse', code: 'RESOURCE_EXHAUSTED', message: 'as the reason says' } as const;
  return describeRefusal(node.model, event, answer, REFUSAL.lastAt);
}

test.each<[string, CpuResources]>([
  ['CPUs', { cpus: '1-2' }],
  ['memory nodes', { mems: '0' }],
  ['huge pages', { hugePages: { 'hugepages-2Mi': 1 << 21 } }],
])('a request that was bound to %s is not said to fit: that is not known of free CPUs alone', (_name, beside) => {
  const node = new NodeDriver();
  const explained = explainRefusal(node.model, refusalOf(node, beside));
  expect(explained).toMatchObject({
    now: '',
    fitsNow: false,
    remedy: expect.stringMatching(/^what the reason names has to change: /),
  });
  expect(explained).not.toHaveProperty('isBound');
  expect(explainRefusal(node.model, refusalOf(node, { cpus: '0-7' }))).toMatchObject({ fitsNow: true });
});

test('the same for huge pages of which only the API server tells', () => {
  const node = new NodeDriver();
  const { containers, ...spec } = specOf('p', 'app 2');
  const asking = containers.map((container) => ({ ...container, limitHugePages: { 'hugepages-2Mi': 1 << 21 } }));
  node.send({ kind: 'pod-spec', spec: { ...spec, containers: asking } });
  expect(explainRefusal(node.model, refusalOf(node, {}))).toMatchObject({ now: '', fitsNow: false });
});

const options = { preferClosestNumaNodes: false, maxAllowableNumaNodes: 8 };
const STRICT = { topologyManager: { policy: 'single-numa-node', scope: 'container', options } } as const;

test('a request that lacks memory is not said to fit, since the CPUs alone would', () => {
  const { cpus } = new NodeDriver().model.topology;
  const memoryNodes = [{ id: 0, memoryBytes: 2 ** 30, distances: new Map([[0, 10]]) }];
  const node = new NodeDriver(buildTopology({ cpus, memoryNodes }), { ...STRICT, memoryNodes: 'follow' });
  const explained = (memoryLimitBytes: number) => explainRefusal(node.model, refusalOf(node, { memoryLimitBytes }));
  expect(explained(2 ** 31)).toMatchObject({ now: expect.stringMatching(/memory/), fitsNow: false });
  expect(explained(2 ** 29)).toMatchObject({ fitsNow: true });
});

test('a request to share has no decision', () => {
  expect(explain('', { requested: 0, code: 'UNAVAILABLE' })).toMatchObject({ now: '', fitsNow: false });
});
