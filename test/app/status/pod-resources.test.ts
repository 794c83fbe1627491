import { listPodResources } from '../../../src/app/status/pod-resources';
import { buildTopology } from '../../../src/core/topology';
import { POLICY_NAMES } from '../../../src/core/model/policies';
import { NodeDriver, type Rules } from '../../core/transition/node-driver';

/** NUMA node 0 has CPUs 0-3, node 1 has CPUs 4-7. CPU 0 is reserved. */
const TWO_NODES = buildTopology({
  cpus: Array.from({ length: 8 }, (_, id) => {
    return { id, core: id, socket: id >> 2, numaNode: id >> 2, uncoreCache: id >> 2 };
  }),
  memoryNodes: [0, 1].map((id) => ({ id, memoryBytes: 2 ** 33, distances: new Map<number, number>() })),
});

/**
 * The pod `i` chooses the policy immovable; `e` chooses exclusive, with a NUMA node of 2 CPUs chosen by the scheduler.
 */
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

/** One text per pod: `p: app 1,3`, or `p: app -` without CPUs; `p 4-5: ...` for CPUs of the whole pod. */
function show(node: NodeDriver): string[] {
  return listPodResources(node.model).pods.map(({ pod, shared, containers }) => {
    const each = containers.map(({ container, cpus }) => `${container} ${cpus.isEmpty ? '-' : cpus.toString()}`);
    return `${pod}${shared.cpus.isEmpty ? '' : ` ${shared.cpus.toString()}`}: ${each.join(', ')}`;
  });
}

test.each`
  what                                                                | history                                 | pods
  ${'no pod: nothing is listed'}                                      | ${''}                                   | ${[]}
  ${'a shared container has no CPUs'}                                 | ${'make p/web 0'}                       | ${['p: web -']}
  ${'exclusive CPUs are listed'}                                      | ${'make p/db 2; make p/web 0'}          | ${['p: db 1-2, web -']}
  ${'an exited container of a running pod keeps its CPUs'}            | ${'make p/init 2; end p/init'}          | ${['p: init 1-2']}
  ${'a restarted container is listed once'}                           | ${'make p/db 2; end p/db; make p/db 2'} | ${['p: db 1-2']}
  ${'a pod that is gone is not listed'}                               | ${'make p/db 2; end p/db; stop p'}      | ${[]}
  ${'immovable CPUs are not listed'}                                  | ${'make i/a 2'}                         | ${['i: a -']}
  ${'CPUs that the containers of a pod share are listed for the pod'} | ${'make e/a 1; make e/b 1'}             | ${['e 4-5: a -, b -']}
`('$what', ({ history, pods }: { history: string; pods: string[] }) => {
  expect(show(nodeOf().run(history))).toEqual(pods);
});

test('allocatable CPUs are all but the reserved ones; memory is empty unless it follows the CPUs', () => {
  const { allocatable } = listPodResources(nodeOf().run('make p/db 2').model);
  expect([allocatable.cpus.toString(), allocatable.memory]).toEqual(['1-7', []]);
});

test('with memory-nodes follow, the memory limits and the memory of each node are listed', () => {
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
