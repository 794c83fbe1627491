import { listPodResources } from '../../../src/app/status/pod-resources';
import { buildTopology } from '../../../src/core/topology';
import { POLICY_NAMES } from '../../../src/core/model/policies';
import { NodeDriver, type Rules } from '../../core/transition/node-driver';

/** NUMA node 0 has the CPUs 0-3, node 1 the CPUs 4-7; CPU 0 is reserved. */
const TWO_NODES = buildTopology({
  cpus: Array.from({ length: 8 }, (_, id) => {
    return { id, core: id, socket: id >> 2, numaNode: id >> 2, uncoreCache: id >> 2 };
  }),
  memoryNodes: [0, 1].map((id) => ({ id, memoryBytes: 2 ** 33, distances: new Map<number, number>() })),
});

/** Pods `i…` and `e…` choose Crane's immovable and, with the scheduler's choice of 2 CPUs, exclusive. */
function nodeOf(rules: Rules = {}): NodeDriver {
  const node = new NodeDriver(TWO_NODES, { podPolicies: POLICY_NAMES, ...rules });
  node.podFields.set('i', {
    annotations: { 'cpusetd.io/policy': 'immovable' },
    cgroupParent: '/kubepods/burstable/podi',
  });
  node.podFields.set('e', {
    annotations: {
      'cpusetd.io/policy': 'exclusive',
      'topology.crane.io/topology-result': JSON.stringify([
        { name: 'node1', type: 'Node', resources: { capacity: { cpu: '2' } } },
      ]),
    },
    cgroupParent: '/kubepods/burstable/pode',
    podResources: { shares: 2048 },
  });
  return node;
}

/** `p: app 1,3; p: -` where a container has none; `p 4-5: …` what belongs to the pod. */
function show(node: NodeDriver): string[] {
  return listPodResources(node.model).pods.map(({ pod, shared, containers }) => {
    const each = containers.map(({ container, cpus }) => `${container} ${cpus.isEmpty ? '-' : cpus.toString()}`);
    return `${pod}${shared.cpus.isEmpty ? '' : ` ${shared.cpus.toString()}`}: ${each.join(', ')}`;
  });
}

test.each`
  what                                             | history                                 | pods
  ${'nothing runs'}                                | ${''}                                   | ${[]}
  ${'a container that shares has none'}            | ${'make p/web 0'}                       | ${['p: web -']}
  ${'exclusive CPUs are told'}                     | ${'make p/db 2; make p/web 0'}          | ${['p: db 1-2, web -']}
  ${'a container that exited while its pod lives'} | ${'make p/init 2; end p/init'}          | ${['p: init 1-2']}
  ${'a restarted container is told once'}          | ${'make p/db 2; end p/db; make p/db 2'} | ${['p: db 1-2']}
  ${'a pod that is gone'}                          | ${'make p/db 2; end p/db; stop p'}      | ${[]}
  ${'immovable CPUs are not exclusive'}            | ${'make i/a 2'}                         | ${['i: a -']}
  ${'CPUs that a pod shares are the pod’s'}        | ${'make e/a 1; make e/b 1'}             | ${['e 4-5: a -, b -']}
`('$what', ({ history, pods }: { history: string; pods: string[] }) => {
  expect(show(nodeOf().run(history))).toEqual(pods);
});

test('allocatable are the CPUs that are not reserved, given out or not; memory only where it follows', () => {
  const { allocatable } = listPodResources(nodeOf().run('make p/db 2').model);
  expect([allocatable.cpus.toString(), allocatable.memory]).toEqual(['1-7', []]);
});

test('where memory follows, each container’s limit is told with its nodes, and each node’s memory', () => {
  const { pods, allocatable } = listPodResources(
    nodeOf({ memoryNodes: 'follow' }).run('make p/db 2; make p/web 0').model,
  );
  const shown = pods[0]!.containers.map(({ container, memory }) => [
    container,
    ...memory.map(({ bytes, nodes }) => `${bytes} on ${nodes.toString()}`),
  ]);
  expect(shown).toEqual([['db', `${2 ** 26} on 0`], ['web']]);
  expect(allocatable.memory.map(({ bytes, nodes }) => `${bytes} on ${nodes.toString()}`)).toEqual([
    `${2 ** 33} on 0`,
    `${2 ** 33} on 1`,
  ]);
});
