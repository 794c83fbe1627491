import { createAdminBackend } from '../../../src/app/status/admin-backend';
import { VerdictStore } from '../../../src/app/status/verdict-store';
import { explainCount } from '../../../src/app/status/explain';
import { POLICY_NAMES, type PolicyName } from '../../../src/core/model/policies';
import { buildTopology } from '../../../src/core/topology';
import { cpus, NodeDriver } from '../../core/transition/node-driver';
import { factsAt } from '../../support/facts-at';
import { silentFaults } from '../../support/faults';

/** NUMA node 0 has the CPUs 0-3, node 1 the CPUs 4-7; CPU 0 is reserved. */
const TWO_NODES = buildTopology({
  cpus: Array.from({ length: 8 }, (_, id) => {
    return { id, core: id, socket: id >> 2, numaNode: id >> 2, uncoreCache: id >> 2 };
  }),
});
const at = '2026-01-01T00:00:00Z';
const facts = factsAt(at);

/** A backend after this history. For each policy there is a pod of that name, which chooses it. */
function backendAfter(history: string, names: Readonly<Record<string, string>> = {}) {
  const node = new NodeDriver(TWO_NODES, { podPolicies: POLICY_NAMES });
  for (const policy of POLICY_NAMES) {
    if (policy === 'static') continue;
    node.podFields.set(policy, {
      annotations: { 'cpusetd.io/policy': policy },
      cgroupParent: `/kubepods/burstable/pod${policy}`,
    });
  }
  node.podFields.set('uid-1', { name: 'twin' });
  node.podFields.set('uid-2', { name: 'twin', namespace: 'other' });
  for (const [uid, name] of Object.entries(names)) node.podFields.set(uid, { name });
  node.run(history);
  return createAdminBackend({
    faults: silentFaults(),
    model: node.model,
    verdicts: new VerdictStore(),
    facts: () => facts,
    readOffline: () => cpus('8-9'),
    refused: () => [],
    stepsOf: (id) => (id === 'static/a#1' ? [{ rule: 'single-cpu', took: cpus('1-2'), because: 'the first' }] : []),
    now: () => at,
  });
}

const HISTORY = 'make static/a 2; make static/init 1; make static/b 1; end static/init; make uid-1/c 1; make uid-2/c 1';

test.each`
  pod            | placement      | kind           | chosenBy               | nodes
  ${'static'}    | ${'exclusive'} | ${'static'}    | ${undefined}           | ${undefined}
  ${'exclusive'} | ${'exclusive'} | ${'exclusive'} | ${'cpusetd.io/policy'} | ${undefined}
  ${'immovable'} | ${'immovable'} | ${'immovable'} | ${'cpusetd.io/policy'} | ${undefined}
  ${'numa'}      | ${'numa'}      | ${'numa'}      | ${'cpusetd.io/policy'} | ${'0'}
`('a pod under $pod has placement, kind, the annotation that chose it, and nodes', ({ pod, ...expected }) => {
  const backend = backendAfter(`make ${pod}/a 2`);
  const [container] = backend.status().containers;
  const [assignment] = backend.assignments();
  const traits = {
    kind: container?.kind,
    chosenBy: container?.rules?.chosenBy,
    nodes: container?.nodes?.toString(),
  };
  expect({ placement: container?.placement, ...traits }).toEqual(expected);
  expect({
    kind: assignment?.kind,
    chosenBy: assignment?.rules.chosenBy,
    nodes: assignment?.nodes?.toString(),
  }).toEqual(traits);
});

test('a pause container is in the status, and neither in explain nor in PodResources', () => {
  const backend = backendAfter('make static/a 2; pause static 0-7');
  const [pause] = backend.status().containers.filter(({ pause }) => pause);
  expect(pause).toMatchObject({ id: 'sandbox-static', podUid: 'static', container: '(pause)', placement: 'shared' });
  expect(pause?.promise?.cpus.toString()).toBe('0');
  const explained = backend.explain({ kind: 'pod', namespace: '', pod: 'static', container: '' });
  expect(explained).toMatchObject({ containers: [{ container: { container: 'a' } }] });
  expect(backend.podResources().pods.flatMap(({ containers }) => containers.map((each) => each.container))).toEqual([
    'a',
  ]);
});

test('a shared container has neither kind nor rules nor nodes', () => {
  const [container] = backendAfter('make none/a 2').status().containers;
  expect(container).toMatchObject({ placement: 'shared' });
  expect([container?.kind, container?.rules, container?.nodes]).toEqual([undefined, undefined, undefined]);
});

test('assignments name their container while it runs, and those of exited containers are idle too', () => {
  const backend = backendAfter('make static/a 2; make static/b 1; end static/a');
  expect(backend.assignments().map(({ container, containerId }) => [container, containerId])).toEqual([
    ['a', ''],
    ['b', 'static/b#1'],
  ]);
  expect(backend.status().idle.map(({ container, kind }) => [container, kind])).toEqual([['a', 'static']]);
});

test('the topology comes with the node and the assignments of the same moment', () => {
  const { topology, offline, node, assignments } = backendAfter('make static/a 2').topology();
  expect([topology.online.toString(), offline.toString()]).toEqual(['0-7', '8-9']);
  expect([node.sharedPool.toString(), assignments[0]?.cpus.toString()]).toEqual(['0,3-7', '1-2']);
});

describe('explain', () => {
  const pod = (name: string, container = '', namespace = '') =>
    ({ kind: 'pod', pod: name, namespace, container }) as const;

  test.each`
    what                      | query                      | found
    ${'a pod by its name'}    | ${pod('static')}           | ${['a', 'b', 'init idle']}
    ${'a pod with namespace'} | ${pod('static', '', 'ns')} | ${['a', 'b', 'init idle']}
    ${'a pod by its uid'}     | ${pod('uid-1')}            | ${['c']}
    ${'one container'}        | ${pod('static', 'b')}      | ${['b']}
    ${'one that has exited'}  | ${pod('static', 'init')}   | ${['init idle']}
  `('$what', ({ query, found }: { query: ReturnType<typeof pod>; found: string[] }) => {
    const explanation = backendAfter(HISTORY).explain(query);
    if (explanation.kind !== 'containers') throw new Error('a pod was asked for');
    const { containers, idle } = explanation;
    expect([
      ...containers.map(({ container }) => container.container),
      ...idle.map(({ container }) => `${container} idle`),
    ]).toEqual(found);
  });

  describe('of two pods of one namespace and name', () => {
    const [OLD, NEW] = ['0'.repeat(31) + 'a', '0'.repeat(31) + 'b'];
    const explain = (history: string, name = 'ns/twin') => {
      const [namespace = '', podName = ''] = name.includes('/') ? name.split('/') : ['', name];
      const explanation = backendAfter(history, { [OLD]: 'twin', [NEW]: 'twin' }).explain(pod(podName, '', namespace));
      if (explanation.kind !== 'containers') throw new Error('a pod was asked for');
      const { containers, idle, others } = explanation;
      return {
        found: [...containers.map(({ container }) => container.podUid), ...idle.map(({ podUid }) => podUid)],
        others: others.map(({ podUid, running, cpus: own }) => [podUid, running, own.toString()]),
      };
    };

    test('takes the one that runs, and names the other with its uid', () => {
      const history = `make ${NEW}/a 1; make ${OLD}/a 2; end ${OLD}/a`;
      expect(explain(history)).toEqual({ found: [NEW], others: [[OLD, false, '2-3']] });
      expect(explain(history, 'twin')).toEqual({ found: [NEW], others: [[OLD, false, '2-3']] });
      expect(explain(history, OLD)).toEqual({ found: [OLD], others: [] });
    });

    test('takes the newest when both run, or neither does', () => {
      const history = `make ${OLD}/a 2; make ${NEW}/a 1`;
      expect(explain(history).found).toEqual([NEW]);
      expect(explain(`${history}; end ${OLD}/a; end ${NEW}/a`).found).toEqual([NEW]);
    });
  });

  test('has the allocation steps where they are known', () => {
    const explanation = backendAfter(HISTORY).explain(pod('static'));
    const steps = explanation.kind === 'containers' ? explanation.containers.map((each) => each.steps) : [];
    expect(steps).toEqual([[{ rule: 'single-cpu', took: cpus('1-2'), because: 'the first' }], []]);
  });

  test.each`
    what                                 | query                         | code                     | message
    ${'a pod that is not known'}         | ${pod('nope')}                | ${'NOT_FOUND'}           | ${'no running pod nope is known here'}
    ${'another namespace'}               | ${pod('static', '', 'other')} | ${'NOT_FOUND'}           | ${'no running pod static'}
    ${'a uid together with a namespace'} | ${pod('uid-1', '', 'ns')}     | ${'NOT_FOUND'}           | ${'no running pod uid-1'}
    ${'another container'}               | ${pod('static', 'z')}         | ${'NOT_FOUND'}           | ${'no running container z in pod static'}
    ${'a name of a container'}           | ${pod('b')}                   | ${'NOT_FOUND'}           | ${'container b is in ns/static: cpusetd explain ns/static b'}
    ${'a name of two pods'}              | ${pod('twin')}                | ${'FAILED_PRECONDITION'} | ${'pod twin is ambiguous: ns/twin (uid uid-1), other/twin (uid uid-2); write it as namespace/name, or its uid'}
  `('$what is $code', ({ query, code, message }: { query: ReturnType<typeof pod>; code: string; message: string }) => {
    const backend = backendAfter(HISTORY);
    expect(() => backend.explain(query)).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(message) }),
    );
  });

  test.each`
    count | fits     | cpus     | because
    ${3}  | ${true}  | ${'4-6'} | ${'3 exclusive CPUs, free on the node'}
    ${9}  | ${false} | ${''}    | ${'asked for 9 exclusive CPUs, 4 can be given now'}
  `(
    '$count CPUs fit: $fits',
    ({ count, fits, cpus: list, because }: { count: number; fits: boolean; cpus: string; because: string }) => {
      const explanation = backendAfter('make static/a 3').explain({ kind: 'cpus', count });
      if (explanation.kind !== 'what-if') throw new Error('a number was asked for');
      expect(explanation.because).toContain(because);
      expect([explanation.fits, explanation.cpus.toString()]).toEqual([fits, list]);
    },
  );

  test.each`
    policy      | podPolicies                | count | fits     | because
    ${'none'}   | ${['none']}                | ${2}  | ${false} | ${/^the policy is none: it gets no CPUs of its own$/}
    ${'none'}   | ${undefined}               | ${2}  | ${false} | ${/^the policy is none: it gets no CPUs of its own$/}
    ${'none'}   | ${['none', 'static']}      | ${2}  | ${true}  | ${/^2 exclusive CPUs, .*for a pod that chooses the policy static: under none, the node's, others get no/}
    ${'none'}   | ${['exclusive']}           | ${2}  | ${true}  | ${/^2 exclusive CPUs, .*for a pod that chooses the policy exclusive/}
    ${'none'}   | ${['exclusive', 'static']} | ${99} | ${false} | ${/^asked for 99 exclusive CPUs, .*for a pod that chooses the policy exclusive/}
    ${'none'}   | ${['static', 'immovable']} | ${7}  | ${true}  | ${/for a pod that chooses the policy (static|immovable)/}
    ${'static'} | ${['exclusive', 'static']} | ${2}  | ${true}  | ${/^2 exclusive CPUs, free on the node$/}
  `('$count CPUs under $policy where pods may choose $podPolicies', ({ policy, podPolicies, count, fits, because }) => {
    const rules = {
      cpuManagerPolicy: policy as PolicyName,
      ...(podPolicies && { podPolicies: podPolicies as PolicyName[] }),
    };
    const explanation = explainCount(new NodeDriver(TWO_NODES, rules).model, Number(count));
    if (explanation.kind !== 'what-if') throw new Error('a number was asked for');
    expect(explanation.fits).toBe(fits);
    expect(explanation.because).toMatch(because as RegExp);
  });
});
