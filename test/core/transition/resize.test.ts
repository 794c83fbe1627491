import { CpuSet } from '../../../src/core/cpuset';
import type { ContainerPhase } from '../../../src/core/model/events';
import type { TopologyManagerPolicy, TopologyManagerSettings } from '../../../src/core/model/settings';
import { buildTopology } from '../../../src/core/topology';
import { describeRefusal } from '../../../src/core/transition';
import { specOf } from '../../support/spec-of';
import { machineOf, NodeDriver, resourcesOf, without, type Rules } from './node-driver';

/** The node with everything that a resize could change. */
function picture({ model: { assignments, allContainers, pods, sharedPool } }: NodeDriver): string {
  return JSON.stringify([[...assignments], [...allContainers], [...pods], sharedPool]);
}

/** NUMA nodes of so many CPUs, one thread in each core. */
function nodesOf(...sizes: readonly number[]) {
  const nodes = sizes.flatMap((size, node) => Array.from({ length: size }, () => node));
  return buildTopology({
    cpus: nodes.map((node, id) => ({ id, core: id, socket: node, numaNode: node, uncoreCache: node })),
  });
}

function aligned(policy: TopologyManagerPolicy, scope: TopologyManagerSettings['scope'] = 'container'): Rules {
  const options = { preferClosestNumaNodes: false, maxAllowableNumaNodes: 8 };
  return { topologyManager: { policy, scope, options } };
}

test.each`
  name                                                          | rules                               | before                                       | resize     | state
  ${'none: it grows where it is'}                               | ${aligned('none')}                  | ${'make x/x 1; make p/a 2'}                  | ${'p/a 6'} | ${'p/a 2-7; x/x 1; pool 0,8-11'}
  ${'best-effort: it grows beyond its node, and stays there'}   | ${aligned('best-effort')}           | ${'make x/x 1; make p/a 2'}                  | ${'p/a 6'} | ${'p/a 2-7; x/x 1; pool 0,8-11'}
  ${'restricted: it grows on its node'}                         | ${aligned('restricted')}            | ${'make p/a 2'}                              | ${'p/a 3'} | ${'p/a 1-3; pool 0,4-11'}
  ${'single-numa-node: it grows on its node'}                   | ${aligned('single-numa-node')}      | ${'make x/x 2; make p/a 3; make y/y 1'}      | ${'p/a 4'} | ${'p/a 4-7; x/x 1-2; y/y 3; pool 0,8-11'}
  ${'scope pod: it grows where its pod is'}                     | ${aligned('restricted', 'pod')}     | ${'make p/b 3; make p/a 2'}                  | ${'p/a 4'} | ${'p/a 4-7; p/b 1-3; pool 0,8-11'}
  ${'distribute-cpus-across-numa: it keeps what it has'}        | ${{ options: { distributeCpusAcrossNuma: true } }} | ${'make p/a 2'}               | ${'p/a 8'} | ${'p/a 4-11; pool 0-3'}
`('a growth, $name', (row: { rules: Rules; before: string; resize: string; state: string }) => {
  const node = new NodeDriver(nodesOf(4, 8), row.rules).run(row.before);
  expect(node.run(`resize ${row.resize}`).state).toBe(row.state);
}); // prettier-ignore

test.each`
  name                                                | machine           | rules                                               | before                                     | resize
  ${'restricted: more than its node has'}             | ${nodesOf(4, 8)}  | ${aligned('restricted')}                            | ${'make x/x 1; make p/a 2'}                | ${'p/a 6'}
  ${'single-numa-node: more than its node has'}       | ${nodesOf(4, 8)}  | ${aligned('single-numa-node')}                      | ${'make p/a 3'}                            | ${'p/a 4'}
  ${'scope pod: more than the node of its pod has'}   | ${nodesOf(4, 8)}  | ${aligned('single-numa-node', 'pod')}               | ${'make p/b 1; make p/a 2'}                | ${'p/a 3'}
  ${'share: more than there are'}                     | ${machineOf(4, 2)} | ${{ onInsufficientCpu: 'share' }}                   | ${'make p/a 2; make q/b 4'}                | ${'p/a 4'}
  ${'share and full-pcpus-only: half a core less'}    | ${machineOf(4, 2)} | ${{ onInsufficientCpu: 'share', options: { fullPcpusOnly: true } }} | ${'make p/a 4'}            | ${'p/a 3'}
  ${'share: a shared container has no CPUs to get'}   | ${machineOf(4, 2)} | ${{ onInsufficientCpu: 'share' }}                   | ${'make p/a 1.5; make q/b 6'}              | ${'p/a 2'}
  ${'CPUs of a container that may come back'}         | ${machineOf(4, 2)} | ${{}}                                               | ${'make p/a 2; make p/b 2; make q/c 3; end p/b'} | ${'p/a 4'}
  ${'the floor of the shared pool'}                   | ${machineOf(4, 2)} | ${{ minSharedCpus: 3 }}                             | ${'make p/a 2; make q/b 3'}                | ${'p/a 3'}
`('a resize that is refused changes nothing, $name', (row: { machine: ReturnType<typeof machineOf>; rules: Rules; before: string; resize: string }) => {
  const node = new NodeDriver(row.machine, row.rules).run(row.before);
  node.podFields.set('p', { podResources: { shares: 4 * 1024 } });
  const before = picture(node);
  node.run(`resize ${row.resize}`);
  expect(node.answer?.kind).toBe('refuse');
  expect(picture(node)).toBe(before);
  expect([node.reported, node.movesMade, node.isDurable]).toEqual([[], '', false]);
}); // prettier-ignore

describe('idle CPUs of its pod', () => {
  const immovable = { 'policy.cpusetd.io/container.b': 'immovable' };

  test('are left to a container that comes back, which gets just these', () => {
    const node = new NodeDriver().run('make p/a 2; make p/b 2; end p/b; resize p/a 3');
    expect(node.state).toBe('p/a 1,4-5; p/b 2,6 idle; pool 0,3,7');
    expect(node.run('ask p/b 2').reply).toBe('cpus 2,6');
  });

  test('are left to it also when it had them by another policy', () => {
    const node = new NodeDriver(undefined, { podPolicies: ['immovable'] });
    node.podFields.set('p', { annotations: immovable });
    expect(node.run('make p/a 2; make p/b 3; end p/b; make q/c 2').state).toMatch(/p\/b 2,4,6 idle|p\/b 2-3,6 idle/);
    expect(node.run('resize p/a 3').reply).toBe('refused RESOURCE_EXHAUSTED');
  });

  test('that no container can need any more are free', () => {
    const node = new NodeDriver().run('pod p');
    const report = (text: string) => node.send({ kind: 'pod-spec', spec: specOf('p', text) });
    report('i init 4, a 2');
    node.run('make p/i 4; make q/b 3; end p/i; make p/a 2');
    report('i init 4!, a 2');
    expect(node.run('resize p/a 4').reply).toBe('cpus 1-2,5-6');
  });
});

describe('a container that waits for CPUs', () => {
  /** q has all but one of the CPUs that can be given out. */
  const waiting = (rules: Rules = {}): NodeDriver =>
    new NodeDriver(undefined, rules).run('make q/x 5; know p/a 4; start p/a');

  test.each(['refuse', 'share'] as const)('goes on through any resize that asks for CPUs (%s)', (onInsufficientCpu) => {
    const node = waiting();
    node.setRules({ onInsufficientCpu });
    const since = node.container('p/a')!.waitingSince;
    expect(since).toBeDefined();
    for (const resources of [{ memoryLimitBytes: 1 << 27 }, resourcesOf(6), resourcesOf(3), { shares: 2048 }]) {
      node.update('p/a', resources);
      expect([node.reply, node.container('p/a')!.waitingSince]).toEqual(['cpus 0,3,7', since]);
    }
    node.update('p/a', resourcesOf(3));
    expect(node.container('p/a')).toMatchObject({
      entitledCpus: 3,
      because: expect.stringMatching(/waits.* asked for 3/),
    });
    expect(node.run('end q/x; stop q').container('p/a')).toMatchObject({ placement: 'exclusive', entitledCpus: 3 });
  });

  test('gets CPUs when it asks for few enough', () => {
    const node = waiting({ liftCpuQuota: true }).run('resize p/a 2');
    expect([node.reply, node.container('p/a')!.waitingSince]).toEqual(['cpus 3,7 quota -1', undefined]);
  });

  test('waits no longer when it asks for a fraction', () => {
    expect(waiting().run('resize p/a 1.5').container('p/a')).not.toHaveProperty('waitingSince');
  });

  test('leaves idle CPUs of its pod to the container that had them, of another policy too', () => {
    const node = new NodeDriver(undefined, { podPolicies: ['immovable'] });
    node.podFields.set('p', { annotations: { 'policy.cpusetd.io/container.b': 'immovable' } });
    node.run('make q/x 5; know p/a 4; start p/a; make p/b 2; end p/b');
    expect(node.container('p/a')!.waitingSince).toBeDefined();
    expect(node.run('resize p/a 2').container('p/a')!.waitingSince).toBeDefined();
  });
});

describe('a resize of memory alone', () => {
  test('makes a container wait that becomes entitled to CPUs by it, and finds none', () => {
    const node = new NodeDriver().run('make q/x 6');
    node.run('know p/a 2');
    const { pod, container } = node.infoOf('p/a');
    const resources = { ...container.resources, memoryLimitBytes: 0 };
    node.send({ kind: 'create-container', pod, container: { ...container, resources } });
    expect(node.container('p/a')!.entitledCpus).toBe(0);
    node.update('p/a', { memoryLimitBytes: 1 << 27 });
    expect([node.answer?.kind, node.container('p/a')!.entitledCpus]).toEqual(['ok', 2]);
    expect(node.container('p/a')!.waitingSince).toBeDefined();
  });

  test('adds memory nodes where these follow the CPUs, and takes none away', () => {
    const GiB = 2 ** 30;
    const memoryNodes = [0, 1].map((id) => {
      const cpus = CpuSet.range(4 * id, 4 * id + 3);
      return { id, memoryBytes: 8 * GiB, distances: new Map([[id, 10], [1 - id, 20]]), cpus };
    }); // prettier-ignore
    const topology = buildTopology({ cpus: nodesOf(4, 4).cpus, memoryNodes });
    const node = new NodeDriver(topology, { memoryNodes: 'follow' }).run('make p/a 2');
    const memsAt = (gib: number): string => {
      node.update('p/a', { memoryLimitBytes: gib * GiB });
      return `${node.answer?.kind === 'ok' ? node.answer.adjust?.mems?.toString() : 'refused'} ${node.state}`;
    };
    const state = 'p/a 1-2; pool 0,3-7';
    expect([6, 10, 99, 6].map(memsAt)).toEqual([`0 ${state}`, `0-1 ${state}`, `0-1 ${state}`, `0-1 ${state}`]);
    expect(node.model.assignments.get('p/a')!.because).toMatch(/memory nodes 0-1 \(widened/);
  });

  test('leaves a container that was let start without CPUs as it is', () => {
    const node = new NodeDriver(undefined, { onInsufficientCpu: 'share' }).run(
      'make q/x 6; make p/a 2; end q/x; stop q',
    );
    const before = node.container('p/a')!;
    node.update('p/a', { memoryLimitBytes: 1 << 27 });
    expect(node.container('p/a')).toMatchObject({ placement: 'shared', because: before.because });
  });
});

test('a container that was let start without CPUs goes on so as long as they are not there', () => {
  const node = new NodeDriver(undefined, { onInsufficientCpu: 'share' }).run('make q/x 6; make p/a 2');
  expect(node.run('resize p/a 3').container('p/a')).toMatchObject({
    placement: 'shared',
    entitledCpus: 3,
    because: expect.stringMatching(/^asked for 3 exclusive CPUs, 1 can be given now: .*; it shares as before$/),
  });
  expect(node.run('end q/x; stop q; resize p/a 4').reply).toBe('cpus 1-2,5-6');
});

describe('a container that has CPUs under old rules', () => {
  test.each`
    name                                            | rules                                                      | resize | cpus
    ${'none: grows by the policy that placed it'}   | ${{ cpuManagerPolicy: 'none' }}                            | ${4}   | ${'1-2,5-6'}
    ${'none: shrinks by it'}                        | ${{ cpuManagerPolicy: 'none' }}                            | ${2}   | ${'1,5'}
    ${'reserved since: they stay with it'}          | ${{ reserved: '0-1' }}                                     | ${4}   | ${'1-2,5-6'}
    ${'reserved since: they go first'}              | ${{ reserved: '0-1' }}                                     | ${2}   | ${'2,5'}
    ${'reserved since: some stay'}                  | ${{ reserved: '0-2' }}                                     | ${2}   | ${'1,5'}
    ${'full-pcpus-only: its begun core is added'}   | ${{ options: { fullPcpusOnly: true } }}                    | ${4}   | ${'1-2,5-6'}
    ${'full-pcpus-only: its whole core stays'}      | ${{ options: { fullPcpusOnly: true } }}                    | ${2}   | ${'1,5'}
  `('$name', ({ rules, resize, cpus }: { rules: Rules; resize: number; cpus: string }) => {
    const node = new NodeDriver().run('make z/z 1; make p/a 3');
    expect(node.state).toBe('p/a 1-2,5; z/z 4; pool 0,3,6-7');
    node.setRules(rules);
    expect(node.run(`resize p/a ${resize}`).reply).toBe(`cpus ${cpus}`);
  }); // prettier-ignore

  test('loses those first that are offline, and gets others in their place', () => {
    const node = new NodeDriver().run('make z/z 1; make p/a 3');
    node.setTopology(without(node.model.topology, '5'));
    expect(node.run('resize p/a 2').state).toMatch(/^p\/a 1-2;/);
    expect(node.run('resize p/a 4').model.assignments.get('p/a')!.cpus.toString()).toBe('1-3,6');
  });

  test('a switch that its annotations ask for is still due after a resize', () => {
    const node = new NodeDriver(undefined, { podPolicies: ['numa', 'exclusive'] });
    const policy = (name: string) => ({ annotations: { 'cpusetd.io/policy': name } });
    node.podFields.set('p', policy('numa'));
    node.run('make p/a 2; make q/b 6').send({ kind: 'pod-spec', spec: specOf('p', 'a 2', policy('exclusive')) });
    const { blockedSwitch, annotationDigest } = node.container('p/a')!;
    expect(blockedSwitch).toBeDefined();
    node.run('resize p/a 3');
    expect(node.container('p/a')).toMatchObject({
      placement: 'numa',
      entitledCpus: 3,
      annotationDigest,
      blockedSwitch: { since: blockedSwitch!.since },
    });
    expect(node.run('end q/b; stop q').container('p/a')).toMatchObject({ placement: 'exclusive', entitledCpus: 3 });
  });
});

test('a numa container that asks for more keeps its nodes, and gets others besides', () => {
  const node = new NodeDriver(nodesOf(4, 4, 8), { cpuManagerPolicy: 'numa' }).run('make p/a 3; resize p/a 6');
  const [before, nodes] = [node.run('make q/b 3').model.assignments.get('p/a')!.nodes!, () => node.model.assignments.get('p/a')!.nodes!]; // prettier-ignore
  node.run('resize p/a 10');
  expect(before.isSubsetOf(nodes())).toBe(true);
  node.run('resize p/a 1');
  expect(before.isSubsetOf(nodes())).toBe(true);
});

test.each`
  phase         | known
  ${'created'}  | ${true}
  ${'running'}  | ${true}
  ${'exited'}   | ${false}
  ${'creating'} | ${false}
`('an update of a container that is not known, in the phase $phase, makes it known: $known', ({ phase, known }: { phase: ContainerPhase; known: boolean }) => {
  const node = new NodeDriver().run('make p/a 2; end p/a');
  const { pod, container } = node.infoOf('p/a');
  // NRI of containerd knows no state of a container that it has removed meanwhile, which reads as `creating`.
  node.send({ kind: 'update-container', pod, container: { ...container, phase }, resources: { shares: 2048 } });
  expect(node.model.containers.has('p/a#1')).toBe(known);
}); // prettier-ignore

test('a refusal names the CPUs that were asked for, also beyond the sum that the pod told at its start', () => {
  const node = new NodeDriver();
  node.podFields.set('p', { podResources: { shares: 2 * 1024 } });
  node.run('make p/a 2; make q/b 4; resize p/a 4');
  const event = { kind: 'update-container', ...node.infoOf('p/a'), resources: resourcesOf(4) } as const;
  const { answer } = node;
  if (answer?.kind !== 'refuse') throw new Error('it was not refused');
  expect(describeRefusal(node.model, event, answer, '')).toMatchObject({ asked: 'change', requested: 4 });
});
