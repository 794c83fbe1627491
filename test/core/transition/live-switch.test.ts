import type { PodSpec } from '../../../src/core/model/pod-spec';
import { POLICY_NAMES, type PolicyName } from '../../../src/core/model/policies';
import { buildTopology } from '../../../src/core/topology';
import { compareListing, planChanges } from '../../../src/core/transition';
import { captureBaseline } from '../../../src/core/transition/compare-listing';
import { specOf } from '../../support/spec-of';
import { NodeDriver, type Rules } from './node-driver';

/** NUMA node 0 has the CPUs 0-3, node 1 the CPUs 4-7; CPU 0 is reserved. */
const TWO_NODES = buildTopology({
  cpus: Array.from({ length: 8 }, (_, id) => {
    return { id, core: id, socket: id >> 2, numaNode: id >> 2, uncoreCache: id >> 2 };
  }),
});

const POLICY = 'cpusetd.io/policy';

/** Annotations of a pod: a policy; `0:2 1:1` the choice of the scheduler; `reserved` keeps it off reserved CPUs. */
function annotationsOf(text: string): Record<string, string> {
  const annotations: Record<string, string> = {};
  const zones: object[] = [];
  for (const word of text.split(' ').filter((part) => part !== '')) {
    const [node, cpu] = word.split(':');
    if (cpu !== undefined) zones.push({ name: `node${node}`, type: 'Node', resources: { capacity: { cpu } } });
    else if (word === 'reserved') annotations['topology.crane.io/exclude-reserved-cpus'] = 'true';
    else if (word.includes('=')) annotations[`policy.cpusetd.io/container.${word.split('=')[0]}`] = word.split('=')[1]!;
    else annotations[POLICY] = word;
  }
  if (zones.length > 0) annotations['topology.crane.io/topology-result'] = JSON.stringify(zones);
  return annotations;
}

/** Pods are Burstable. `p` has the containers `a` and `b`; their creation has their requests. */
const CONTAINERS: Readonly<Record<string, string>> = { p: 'a 2, b 1!', q: 'a 3', w: 'a 0', a: 'a 3' };

function specFor(uid: string, asked: string, more: Partial<PodSpec> = {}): PodSpec {
  return specOf(uid, CONTAINERS[uid]!, { qos: 'Burstable', annotations: annotationsOf(asked), ...more });
}

class Node extends NodeDriver {
  constructor(rules: Rules = {}) {
    super(TWO_NODES, { podPolicies: POLICY_NAMES, ...rules });
  }

  /** A new pod with these annotations, which the runtime has too. */
  found(uid: string, asked: string): this {
    return this.foundWithoutSpec(uid, asked).annotate(uid, asked);
  }

  /** A pod that the API server does not have: it is gone as soon as its sandbox is. */
  foundWithoutSpec(uid: string, asked: string): this {
    this.podFields.set(uid, { annotations: annotationsOf(asked), cgroupParent: `/kubepods/burstable/pod${uid}` });
    return this;
  }

  /** Changes the pod's annotations at the API server. */
  annotate(uid: string, asked: string): this {
    this.send({ kind: 'pod-spec', spec: specFor(uid, asked) });
    return this;
  }

  /** Synchronizes with a runtime that has these containers, and nothing else. */
  reportAll(targets: string): void {
    const infos = targets.split(' ').map((target) => this.infoOf(target));
    this.send({
      kind: 'synchronize',
      pods: infos.map(({ pod }) => pod),
      containers: infos.map(({ container }) => ({ ...container, phase: 'running' })),
    });
  }

  get where(): string {
    return [...this.model.containers.values()]
      .map(({ podUid, name, promise }) => `${podUid}/${name} ${promise?.cpus.toString() ?? 'anywhere'}`)
      .sort()
      .join('; ');
  }

  get switches(): string[] {
    return this.reported.flatMap((event) =>
      event.kind === 'switched' || event.kind === 'not-switched' || event.kind === 'annotation-ignored'
        ? [`${event.kind} ${event.subject.container}: ${event.because}`]
        : [],
    );
  }
}

/** Compares with a list of these pods, and of their known containers. */
function compareWith(node: Node, pods: string): void {
  const uids = pods.split(' ');
  const containers = [...node.model.containers.values()].filter(({ podUid }) => uids.includes(podUid));
  node.change((draft) => {
    compareListing(
      draft,
      {
        pods: uids.map((uid) => ({ uid, sandboxId: `sandbox-${uid}`, ready: true })),
        containers: containers.map(({ id, sandboxId }) => ({ id, sandboxId, exited: false })),
      },
      captureBaseline(node.model),
    );
    return planChanges(draft);
  });
}

const nodeWith = (rules: Rules = {}): Node => new Node(rules).found('w', '').run('make w/a 0');

test.each`
  name                                                      | from                | to                    | where
  ${'bind'}                                                 | ${'none'}           | ${'exclusive'}        | ${'p/a 1-2; p/b 3; w/a 0,4-7'}
  ${'bind, without an annotation before'}                   | ${''}               | ${'exclusive'}        | ${'p/a 1-2; p/b 3; w/a 0,4-7'}
  ${'unbind'}                                               | ${'exclusive'}      | ${'none'}             | ${'p/a 0-7; p/b 0-7; w/a 0-7'}
  ${'unbind, by removing the annotation'}                       | ${'exclusive'}      | ${''}                 | ${'p/a 0-7; p/b 0-7; w/a 0-7'}
  ${'shrink to a node'}                                     | ${'none'}           | ${'numa'}             | ${'p/a 1-3; p/b 1-3; w/a 0-7'}
  ${'numa to immovable'}                                    | ${'numa'}           | ${'immovable'}        | ${'p/a 1-2; p/b 3; w/a 0-7'}
  ${'immovable to numa'}                                    | ${'immovable'}      | ${'numa'}             | ${'p/a 1-3; p/b 1-3; w/a 0-7'}
  ${'immovable to exclusive'}                               | ${'immovable'}      | ${'exclusive'}        | ${'p/a 1-2; p/b 3; w/a 0,4-7'}
  ${'exclusive to immovable'}                               | ${'exclusive'}      | ${'immovable'}        | ${'p/a 1-2; p/b 3; w/a 0-7'}
  ${'exclusive to numa'}                                    | ${'exclusive'}      | ${'numa'}             | ${'p/a 1-3; p/b 1-3; w/a 0-7'}
  ${'one of two containers'}                                | ${'none'}           | ${'none a=exclusive'} | ${'p/a 1-2; p/b 0,3-7; w/a 0,3-7'}
  ${'the choice of the scheduler comes later'}                 | ${'exclusive'}      | ${'exclusive 1:3'}    | ${'p/a 4-6; p/b 4-6; w/a 0-3,7'}
  ${'the scheduler chose another node'}                                | ${'exclusive 0:3'}  | ${'exclusive 1:3'}    | ${'p/a 4-6; p/b 4-6; w/a 0-3,7'}
  ${'the scheduler chose fewer CPUs there: some of its CPUs are kept'}      | ${'exclusive 0:3'}  | ${'exclusive 0:2'}    | ${'p/a 1-2; p/b 1-2; w/a 0,3-7'}
  ${'the scheduler chose one more CPU elsewhere'}                          | ${'exclusive 0:2'}  | ${'exclusive 0:2 1:1'} | ${'p/a 1-2,4; p/b 1-2,4; w/a 0,3,5-7'}
  ${'the scheduler chose another node for numa'}                       | ${'numa 0:3'}       | ${'numa 1:3'}         | ${'p/a 4-7; p/b 4-7; w/a 0-7'}
  ${'numa without a choice of the scheduler stays where it is'}            | ${'numa 1:3'}       | ${'numa'}             | ${'p/a 4-7; p/b 4-7; w/a 0-7'}
  ${'keep off reserved CPUs'}                               | ${'none'}           | ${'none reserved'}    | ${'p/a 1-7; p/b 1-7; w/a 0-7'}
  ${'no longer keep off reserved CPUs'}                                              | ${'none reserved'}  | ${'none'}             | ${'p/a 0-7; p/b 0-7; w/a 0-7'}
  ${'an unknown policy changes nothing'}                  | ${'none'}           | ${'exclusiv'}         | ${'p/a 0-7; p/b 0-7; w/a 0-7'}
`('$name: "$from" becomes "$to"', ({ from, to, where }: Record<'from' | 'to' | 'where', string>) => {
  const node = nodeWith().found('p', from).run('make p/a 2; make p/b 1');
  node.annotate('p', to);
  expect(node.where).toBe(where);
  // The kernel has the promised cpusets, and the same spec again moves no container.
  for (const { promise, applied } of node.model.containers.values()) expect(applied?.cpus).toEqual(promise?.cpus);
  node.annotate('p', to);
  expect([node.movesMade, node.isDurable, node.switches]).toEqual(['', false, []]);
}); // prettier-ignore

test('given a switch, then it has a reason and is reported', () => {
  const node = nodeWith().found('p', 'none').run('make p/a 2').annotate('p', 'exclusive');
  const because =
    '2 exclusive CPUs, free on the node; the annotations of its pod say so since it runs (before: shared)';
  expect(node.container('p/a')).toMatchObject({ placement: 'exclusive', entitledCpus: 2, because });
  expect(node.model.assignments.get('p/a')).toMatchObject({
    kind: 'exclusive',
    because,
    rules: { policy: 'exclusive', chosenBy: POLICY },
  });
  expect(node.switches).toEqual([`switched a: ${because}`]);
  expect(node.isDurable).toBe(true);
});

test('given a switch to CPUs of others, then the others are moved first', () => {
  const node = nodeWith().found('p', 'none').run('make p/a 2').annotate('p', 'exclusive');
  expect(node.movesMade).toBe('w/a#1 0-7>0,3-7; p/a#1 0-7>1-2');
});

describe('given a switch that does not fit', () => {
  const full = (rules: Rules = {}): Node =>
    nodeWith(rules).foundWithoutSpec('q', 'exclusive').run('make q/a 3').found('p', 'numa');

  test.each`
    name                                 | rules
    ${'with on-insufficient-cpu refuse'} | ${{}}
    ${'with on-insufficient-cpu share'}  | ${{ onInsufficientCpu: 'share' }}
  `(
    '$name: then the container keeps its CPUs, and is switched when CPUs are released',
    ({ rules }: { rules: Rules }) => {
      const node = full(rules).run('make p/a 2');
      node.podFields.set('s', {});
      node.run('make s/x 3');
      const where = 'p/a 7; q/a 1-3; s/x 4-6; w/a 0,7';
      expect(node.where).toBe(where);
      node.annotate('p', 'exclusive');
      expect(node.where).toBe(where);
      expect(node.switches).toEqual([
        expect.stringMatching(/^not-switched a: asked for 2 exclusive CPUs, 1 can be given now/),
      ]);
      expect(node.container('p/a')).toMatchObject({
        placement: 'numa',
        blockedSwitch: { because: expect.stringMatching(/^asked for 2/), since: expect.stringMatching(/^1970-/) },
      });
      node.annotate('p', 'exclusive');
      expect([node.switches, node.movesMade, node.isDurable]).toEqual([[], '', false]);
      node.run('end q/a; stop q');
      expect(node.where).toBe('p/a 1,7; s/x 4-6; w/a 0,2-3');
      expect(node.container('p/a')?.blockedSwitch).toBeUndefined();
      expect(node.switches).toEqual([expect.stringMatching(/^switched a: 2 exclusive CPUs/)]);
    },
  );

  test.each<[string, (node: Node) => void]>([
    ['the runtime stops the pod that has the CPUs', (node) => node.run('end q/a; stop q')],
    ['the sandbox is removed', (node) => node.run('remove q')],
    ['the runtime no longer lists it', (node) => compareWith(node, 's p w')],
    ['a synchronization does not have it', (node) => node.reportAll('s/x p/a w/a')],
    ['it asks for less', (node) => node.run('resize q/a 0.5')],
    ['its pod no longer asks for CPUs of its own', (node) => void node.annotate('q', 'none')],
  ])('then it is made as soon as %s', (_name, release) => {
    const node = full().run('make p/a 2');
    node.podFields.set('s', {});
    node.run('make s/x 3').annotate('p', 'exclusive');
    expect(node.container('p/a')).toMatchObject({ placement: 'numa', blockedSwitch: {} });
    release(node);
    expect(node.container('p/a')).toMatchObject({ placement: 'exclusive' });
    expect(node.container('p/a')?.blockedSwitch).toBeUndefined();
    expect(node.isDurable).toBe(true);
    expect(node.movesMade).toContain('p/a#1');
  }); // prettier-ignore

  test('then the longest unmet switch is made first', () => {
    const node = nodeWith().foundWithoutSpec('q', 'exclusive').run('make q/a 3');
    node.podFields.set('s', {});
    node.run('make s/x 3').found('p', 'none').found('a', 'none').run('make p/a 3; make a/a 3');
    node.annotate('p', 'exclusive').annotate('a', 'exclusive'); // in the order of uids `a` would be first
    node.annotate('p', 'exclusive').run('end q/a; stop q');
    expect(node.where).toBe('a/a 0,3; p/a 1-2,7; s/x 4-6; w/a 0,3');
    expect(node.container('a/a')?.blockedSwitch?.since).toMatch(/^1970-/);
  });

  test('then it is dropped when the annotation is taken back', () => {
    const node = full().run('make p/a 2');
    node.podFields.set('s', {});
    node.run('make s/x 3').annotate('p', 'exclusive').annotate('p', 'numa');
    expect(node.container('p/a')?.blockedSwitch).toBeUndefined();
    expect(node.run('end q/a; stop q').where).toBe('p/a 7; s/x 4-6; w/a 0-3,7');
  });

  test('then a container of the pod that fits is switched alone', () => {
    const node = nodeWith().foundWithoutSpec('q', 'exclusive').run('make q/a 3').found('p', 'none');
    node.podFields.set('s', {});
    node.run('make s/x 2; make p/a 2; make p/b 1').annotate('p', 'exclusive');
    expect(node.where).toBe('p/a 6-7; p/b 0; q/a 1-3; s/x 4-5; w/a 0');
    expect(node.switches).toEqual([
      expect.stringMatching(/^switched a: /),
      expect.stringMatching(/^not-switched b: asked for 1 exclusive CPU, 0 can be given now/),
    ]);
  });
});

describe('given a policy that pods may not choose', () => {
  test('when none is allowed, then no container moves, and the reason is reported', () => {
    const node = nodeWith({ podPolicies: [] }).found('p', '').run('make p/a 2');
    const before = node.where;
    node.annotate('p', 'exclusive');
    expect(node.where).toBe(before);
    expect(node.switches).toEqual([
      'annotation-ignored a: the operator does not let pods choose exclusive here (--pod-policies)',
    ]);
    expect(node.annotate('p', 'exclusive').switches).toEqual([]);
  });

  test('when this one is not allowed, then the policy of the node decides', () => {
    const node = nodeWith({ podPolicies: ['exclusive'] })
      .found('p', 'exclusive')
      .run('make p/a 2')
      .annotate('p', 'immovable');
    expect(node.where).toBe('p/a 0-7; w/a 0-7');
  });

  test.each`
    name                            | rules                                         | policy
    ${'pods may no longer choose'}  | ${{ podPolicies: [] }}                        | ${'exclusive'}
    ${'another policy of the node'} | ${{ cpuManagerPolicy: 'none' as PolicyName }} | ${''}
  `(
    'given a change of rules by the operator, then no running container moves: $name',
    ({ rules, policy }: { rules: Rules; policy: string }) => {
      const node = nodeWith({ cpuManagerPolicy: 'exclusive' }).found('p', policy).run('make p/a 2');
      node.setRules({ podPolicies: POLICY_NAMES, cpuManagerPolicy: 'exclusive', ...rules });
      node.annotate('p', policy);
      expect(node.where).toBe('p/a 1-2; w/a 0,3-7');
      node.annotate('p', `${policy} reserved`); // another annotation is no reason to move it either
      expect(node.where).toBe('p/a 1-2; w/a 0,3-7');
    },
  );
});

describe('given a start of cpusetd', () => {
  /**
   * Starts cpusetd again: it remembers assignments, and the runtime has the annotations that sandboxes were created
   * with.
   */
  function restart(node: Node, asked: Readonly<Record<string, string>>): Node {
    const next = new Node();
    for (const assignment of node.model.assignments.values()) next.model.apply({ kind: 'put-assignment', assignment });
    const containers = [...node.model.containers.values()];
    for (const { podUid } of containers)
      next.podFields.set(podUid, { ...node.podFields.get(podUid), annotations: annotationsOf(asked[podUid] ?? '') });
    next.send(
      {
        kind: 'synchronize',
        pods: [...new Set(containers.map(({ podUid }) => podUid))].map((uid) => ({
          ...node.infoOf(`${uid}/a`).pod,
          ...next.podFields.get(uid),
        })),
        containers: containers.map(({ id }) => ({ ...node.infoOf(id).container, phase: 'running' })),
      },
      new Map(containers.map(({ id, promise }) => [id, promise!.cpus])),
    );
    return next;
  }

  test('then a switched container keeps its CPUs before and after the first list of the API server', () => {
    const node = nodeWith().found('p', 'none').run('make p/a 2').annotate('p', 'exclusive');
    const next = restart(node, { p: 'none' });
    expect(next.where).toBe('p/a 1-2; w/a 0,3-7');
    next.send({ kind: 'pod-specs', specs: [specFor('p', 'exclusive'), specFor('w', '')] });
    expect(next.where).toBe('p/a 1-2; w/a 0,3-7');
    expect(next.movesMade).toBe('');
  });

  test('then annotations that changed meanwhile are followed after the first list of the API server', () => {
    const node = nodeWith().found('p', 'exclusive').run('make p/a 2');
    const next = restart(node, { p: 'exclusive' });
    next.send({ kind: 'pod-specs', specs: [specFor('p', 'immovable')] });
    expect(next.where).toBe('p/a 1-2; w/a 0-7');
  });

  test('then the order of the runtime and the API server makes no difference', () => {
    const node = nodeWith().found('p', 'exclusive').run('make p/a 2');
    const next = new Node();
    for (const assignment of node.model.assignments.values()) next.model.apply({ kind: 'put-assignment', assignment });
    next.send({ kind: 'pod-specs', specs: [specFor('p', 'immovable')] });
    const { pod, container } = node.infoOf('p/a');
    next.send({ kind: 'synchronize', pods: [pod], containers: [{ ...container, phase: 'running' }] });
    expect(next.where).toBe('p/a 1-2');
    expect(next.model.assignments.get('p/a')?.kind).toBe('immovable');
  });
});

describe('given a switch of a container with a CFS quota', () => {
  const LIFT: Rules = { liftCpuQuota: true };
  const quotas = (node: Node) => node.moves.filter(({ to }) => to.quota).map(({ containerId, to, podQuota }) => [containerId, to.quota, podQuota?.quota]); // prettier-ignore

  test('then the quota is lifted with CPUs of its own, and as asked for without', () => {
    const node = nodeWith(LIFT).found('p', 'none').run('make p/a 2').annotate('p', 'exclusive');
    expect(quotas(node)).toEqual([['p/a#1', { quotaUs: -1 }, undefined]]);
    node.annotate('p', 'immovable');
    // The quota of the pod is the sum of those of its containers.
    expect(quotas(node)).toEqual([
      ['p/a#1', { quotaUs: 200_000, periodUs: 100_000 }, { quotaUs: 300_000, periodUs: 100_000 }],
    ]);
  });

  test('then the quota of the pod stays lifted while another container has CPUs of its own', () => {
    const node = nodeWith(LIFT).found('p', 'exclusive').run('make p/a 2; make p/b 1').annotate('p', 'none b=exclusive');
    expect(quotas(node)).toEqual([['p/a#1', { quotaUs: 200_000, periodUs: 100_000 }, undefined]]);
  });

  test('then an update by cpusetd itself does not change the resources that the kubelet asked for', () => {
    const node = nodeWith(LIFT).found('p', 'none').run('make p/a 2').annotate('p', 'exclusive');
    node.update('p/a', { quotaUs: -1 });
    expect(node.container('p/a')?.resources.quotaUs).toBe(200_000);
    node.annotate('p', 'none');
    expect(quotas(node)).toEqual([['p/a#1', { quotaUs: 200_000, periodUs: 100_000 }, { quotaUs: 300_000, periodUs: 100_000 }]]); // prettier-ignore
  });
});

test('given an unmet switch, when a resize releases CPUs, then the switch gets them, and the answer does not have them', () => {
  const node = nodeWith().foundWithoutSpec('q', 'exclusive').run('make q/a 3').found('p', 'none');
  node.podFields.set('s', {});
  node.run('make s/x 3; make p/a 2').annotate('p', 'exclusive');
  expect(node.where).toBe('p/a 0,7; q/a 1-3; s/x 4-6; w/a 0,7');
  node.run('resize q/a 0.5');
  expect(node.where).toBe('p/a 1,7; q/a 0,2-3; s/x 4-6; w/a 0,2-3');
  expect(node.reply).toBe('cpus 0,2-3');
});

test('given a container that waits for CPUs, when its annotations ask for the shared pool, then it waits no longer', () => {
  const node = nodeWith()
    .foundWithoutSpec('q', 'exclusive')
    .run('make q/a 7')
    .found('p', 'exclusive')
    .run('know p/a 2');
  const all = [node.infoOf('q/a'), node.infoOf('w/a'), node.infoOf('p/a')];
  node.send({
    kind: 'synchronize',
    pods: all.map(({ pod }) => pod),
    containers: all.map(({ container }) => ({ ...container, phase: 'running' })),
  });
  expect(node.container('p/a')?.waitingSince).toBeDefined();
  node.annotate('p', 'none');
  expect(node.container('p/a')).toMatchObject({ because: 'shares: the annotations of its pod say so' });
  expect(node.run('end q/a; stop q').where).toBe('p/a 0-7; w/a 0-7');
});
