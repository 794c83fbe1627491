import { parseCpuList } from '../../../src/core/cpuset';
import type { Settings } from '../../../src/core/model/settings';
import { leaveAloneRules } from '../../../src/option-types/cpu-types';
import { buildTopology } from '../../../src/core/topology';
import { judge } from '../../../src/core/verdict/judge';
import type { Observation } from '../../../src/core/verdict/observation';
import { specOf } from '../../support/spec-of';
import { EIGHT_CPUS, NodeDriver, type Rules } from './node-driver';

/** Rules as an operator writes them. */
function rulesOf(text: string): NonNullable<Settings['leaveAlone']> {
  const parsed = leaveAloneRules.parse(text);
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.value;
}

function driver(rules: Rules, annotations: Record<string, string> = {}) {
  const node = new NodeDriver(EIGHT_CPUS, { liftCpuQuota: true, ...rules });
  node.model.apply({ kind: 'set-synchronized', synchronized: true });
  node.podFields.set('p', { annotations });
  return node;
}

test.each([
  ['ns', true],
  ['n*', true],
  ['*', true],
  ['ns/p', true],
  ['ns/*/app', true],
  ['other,ns/p/a*p', true],
  ['n', false],
  ['ns/q', false],
  ['ns/*/main', false],
  ['other*', false],
  ['', false],
])('the rule %p leaves ns/p/app alone: %p', (text, isLeft) => {
  const node = driver({ leaveAlone: rulesOf(text) });
  node.run('make p/app 2');
  expect(node.container('p/app')!.placement).toBe(isLeft ? 'left-alone' : 'exclusive');
  expect(node.model.exclusive.isEmpty).toBe(isLeft);
});

test.each(['ns/', '/p', 'ns/p/app/more', 'Ns', 'n s', 'ns,,other'])(
  'the rule %p is none, and the error shows the form',
  (text) => {
    const parsed = leaveAloneRules.parse(text);
    expect(parsed.ok ? 'ok' : parsed.remedy).toBe(
      'write NAMESPACE, NAMESPACE/POD or NAMESPACE/POD/CONTAINER, with * for any text',
    );
  },
);

test.each([
  [{ 'cpusetd.io/leave-alone': 'all' }, true],
  [{ 'leave-alone.cpusetd.io/container.app': 'all' }, true],
  [{ 'cpusetd.io/leave-alone': 'all', 'leave-alone.cpusetd.io/container.app': 'off' }, false],
  [{ 'leave-alone.cpusetd.io/container.other': 'all' }, false],
  [{ 'cpusetd.io/leave-alone': 'memory' }, false],
  [{ 'cpu.preserve.resource-policy.nri.io': 'true' }, true],
  [{ 'cpu.preserve.resource-policy.nri.io/pod': 'true' }, true],
  [{ 'cpu.preserve.resource-policy.nri.io/container.app': 'true' }, true],
  [{ 'cpu.preserve.resource-policy.nri.io/pod': 'false', 'cpu.preserve.resource-policy.nri.io': 'true' }, false],
  [{ 'memory.preserve.resource-policy.nri.io': 'true' }, false],
])('the annotations %j leave the container alone where pods may ask: %p', (annotations, isLeft) => {
  const node = driver({ podLeaveAlone: true }, annotations);
  node.run('make p/app 2');
  expect(node.container('p/app')!.placement).toBe(isLeft ? 'left-alone' : 'exclusive');

  const forbidden = driver({}, annotations);
  forbidden.run('ask p/app 2');
  expect(forbidden.container('p/app')!.placement).toBe('exclusive');
  const remarks = forbidden.reported.flatMap((event) => (event.kind === 'annotation-ignored' ? [event.because] : []));
  const asksForSomething =
    isLeft || Object.values(annotations).includes('memory') || 'memory.preserve.resource-policy.nri.io' in annotations;
  expect(remarks).toEqual(
    asksForSomething ? ['the operator does not let pods ask to be left alone (--pod-leave-alone)'] : [],
  );
});

test('a value that means nothing is named, and the container is not left alone', () => {
  const node = driver({ podLeaveAlone: true }, { 'cpu.preserve.resource-policy.nri.io': 'True' });
  node.run('ask p/app 2');
  expect(node.reported).toContainEqual(
    expect.objectContaining({ kind: 'annotation-ignored', because: '"True" is none of true, false' }),
  );
  expect(node.container('p/app')!.placement).toBe('exclusive');
});

test('a rule that came later takes no CPUs, when the annotations of the pod change neither', () => {
  const podPolicies = ['static', 'numa'] as const;
  const node = driver({ podPolicies });
  node.run('make p/app 2');
  node.setRules({ podPolicies, leaveAlone: rulesOf('ns/p') });
  const annotated = (policy: string) =>
    specOf('p', 'app app 2', { name: 'p', annotations: { 'cpusetd.io/policy': policy }, qos: 'Guaranteed' });
  for (const policy of ['static', 'numa']) node.send({ kind: 'pod-spec', spec: annotated(policy) });
  expect(node.state).toContain('p/app 1,5');
  expect(node.container('p/app')!.placement).toBe('exclusive');
});

describe('a container that is left alone', () => {
  const leaveAlone = rulesOf('ns/p');
  const BOTH = 'make p/app 2; make q/app 2';
  const UNREADABLE: Observation = { kind: 'unreadable', because: 'EACCES' };

  test('starts in the shared pool, and is not touched when that changes', () => {
    const node = driver({ leaveAlone });
    node.run('ask p/app 2');
    expect(node.reply).toBe('cpus 0-7'); // no lifted quota
    node.run('created p/app; start p/app; make q/app 2');
    expect(node.movesMade).toBe('');
    expect(node.container('p/app')!.promise).toBeUndefined();
    expect(node.state).toBe('q/app 1,5; pool 0,2-4,6-7');
  });

  test('gets nothing where the operator wants it untouched', () => {
    const node = driver({ leaveAlone, leftAloneStart: 'untouched' });
    node.run('make q/app 2; ask p/app 2');
    expect(node.answer).toEqual({ kind: 'ok' });
  });

  test('keeps the CPUs of its request, less exclusive ones, at its start', () => {
    const node = driver({ leaveAlone });
    node.bringing.set('p/app', { cpus: '1-2' });
    node.run('make q/app 2; ask p/app 2');
    expect(node.reply).toBe('cpus 2');
  });

  test('has the CPUs of its request in its reason, which does not say that cpusetd takes exclusive ones out', () => {
    const node = driver({ leaveAlone, leftAloneStart: 'untouched' });
    node.bringing.set('p/app', { cpus: '1-2' });
    node.run('make q/app 2; ask p/app 2');
    expect(node.answer).toEqual({ kind: 'ok' });
    expect(node.container('p/app')!.because).toBe(
      "left alone: the operator's rule ns/p says so; its request brought CPUs 1-2",
    );
  });

  test('its change of resources is answered with nothing', () => {
    const node = driver({ leaveAlone });
    node.run('make p/app 2; resize p/app 4');
    expect(node.answer).toEqual({ kind: 'ok' });
    expect(node.container('p/app')!.placement).toBe('left-alone');
  });

  describe('has the verdict left-alone with the reason', () => {
    const rule = "left alone: the operator's rule ns/p says so";
    const notKnown = `${rule}; it is not known if it may run on CPUs that others own`;
    const seen = (cpus: string): Observation => {
      const on = parseCpuList(cpus);
      return { kind: 'seen', cpus: on, effective: on, mems: parseCpuList('') };
    };
    const missing = (forMs: number): Observation => ({
      kind: 'gone',
      missing: { because: 'its cgroup is not at /x', forMs, isConfirmed: true },
    });

    test.each<[string, string, Observation | undefined, string]>([
      [
        'with the CPUs of others that it may run on',
        BOTH,
        seen('0-7'),
        `${rule}; it may run on CPUs 1,5, which others own`,
      ],
      ['alone when it runs beside them', BOTH, seen('0,2'), rule],
      ['with the fault when its cgroup cannot be read', BOTH, UNREADABLE, `${notKnown}: EACCES`],
      ['and that it was not read yet', BOTH, undefined, `${notKnown}: its cgroup has not been looked at yet`],
      ['and that it is exiting', BOTH, missing(9_999), `${notKnown}: its cgroup is gone: the container is exiting`],
      [
        'with the places where its cgroup was not found for long',
        BOTH,
        missing(10_000),
        `${notKnown}: its cgroup is not at /x; it runs so for more than 10 s`,
      ],
      ['alone when nobody owns CPUs', 'make p/app 2', UNREADABLE, rule],
      ['alone before it starts', 'create p/app 2; make q/app 2', undefined, rule],
    ])('%s', (_what, history, observation, because) => {
      const node = driver({ leaveAlone }).run(history);
      expect(judge(node.model, node.container('p/app')!, observation)).toEqual({ kind: 'left-alone', because });
    });
  });

  test('its pause container stays where it is, unless the rule is for some containers', () => {
    for (const [text, stays] of [
      ['ns/p', true],
      ['ns/p/app', false],
    ] as const) {
      const node = driver({ leaveAlone: rulesOf(text) });
      node.run('pod p; pause p 0-7; make q/app 2');
      expect(node.model.allContainers.get('sandbox-p')!.promise === undefined).toBe(stays);
    }
  });
});

test('only the memory of a container may be left alone: memory nodes do not follow its CPUs', () => {
  for (const [annotations, mems] of [
    [{}, '0'],
    [{ 'memory.preserve.resource-policy.nri.io': 'true' }, ''],
  ] as const) {
    const topology = buildTopology({
      cpus: EIGHT_CPUS.cpus,
      memoryNodes: [{ id: 0, memoryBytes: 2 ** 32, distances: new Map([[0, 10]]) }],
    });
    const node = new NodeDriver(topology, { podLeaveAlone: true, memoryNodes: 'follow' });
    node.podFields.set('p', { annotations });
    node.run('make p/app 2');
    expect(node.container('p/app')!.promise!.mems.toString()).toBe(mems);
    expect(node.container('p/app')!.placement).toBe('exclusive');
  }
});
