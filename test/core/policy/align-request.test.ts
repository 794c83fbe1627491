import type { TopologyManagerPolicy, TopologyManagerSettings } from '../../../src/core/model/settings';
import { buildTopology } from '../../../src/core/topology';
import { NodeDriver } from '../transition/node-driver';

/** Four cores of two threads in two NUMA nodes: CPUs 0-1,4-5 and 2-3,6-7; CPU 0 is reserved. */
const TWO_NODES = buildTopology({
  cpus: Array.from({ length: 8 }, (_, id) => {
    const node = (id % 4) >> 1;
    return { id, core: id % 4, socket: node, numaNode: node, uncoreCache: node };
  }),
});

function nodeWith(policy: TopologyManagerPolicy, scope: TopologyManagerSettings['scope'] = 'container'): NodeDriver {
  const options = { preferClosestNumaNodes: false, maxAllowableNumaNodes: 8 };
  return new NodeDriver(TWO_NODES, { topologyManager: { policy, scope, options } });
}

test.each`
  name                                                                          | policy           | history                                                                                              | reply
  ${'one node, though the CPUs with the fewest free are in two'}                | ${'best-effort'} | ${'make q/x 1; ask p/app 3'}                                                                        | ${'cpus 2-3,6'}
  ${'idle CPUs in one node name the node'}                                      | ${'restricted'}  | ${'make q/x 2; make p/i 2; end p/i; end q/x; stop q; remove q; ask p/app 3'}                        | ${'cpus 2-3,6'}
  ${'idle CPUs in two nodes do not force it into both'}                         | ${'best-effort'} | ${'make q/x 2; make p/i 1; make p/j 2; end p/i; end p/j; end q/x; stop q; remove q; ask p/app 3'}   | ${'cpus 1,4-5'}
  ${'idle CPUs in two nodes do not make restricted refuse it'}                  | ${'restricted'}  | ${'make q/x 2; make p/i 1; make p/j 2; end p/i; end p/j; end q/x; stop q; remove q; ask p/app 3'}   | ${'cpus 1,4-5'}
  ${'restricted refuses a request that needs one node and fits only into both'} | ${'restricted'}  | ${'make q/x 2; make q/y 2; ask p/app 3'}                                                            | ${'refused RESOURCE_EXHAUSTED'}
  ${'a request above one node gets as many nodes as on an idle machine'}        | ${'restricted'}  | ${'ask p/app 5'}                                                                                    | ${'cpus 2-4,6-7'}
  ${'single-numa-node refuses a request above one node'}                        | ${'single-numa-node'} | ${'ask p/app 5'}                                                                               | ${'refused RESOURCE_EXHAUSTED'}
`('$name', ({ policy, history, reply }: { policy: TopologyManagerPolicy; history: string; reply: string }) => {
  expect(nodeWith(policy).run(history).reply).toBe(reply);
}); // prettier-ignore

test.each<[string, number, string]>([
  ['as many CPUs as one node has, halves of cores included, are refused', 4, 'refused RESOURCE_EXHAUSTED'],
  ['as many as one node has in whole cores are given', 2, 'cpus 2,8'],
])('full-pcpus-only and single-numa-node: %s', (_name, count, reply) => {
  // Three cores of two threads in each node; one and a half cores of node 0, and all but one core of node 1, are not
  // free.
  const topology = buildTopology({
    cpus: Array.from({ length: 12 }, (_, id) => {
      const node = Math.floor((id % 6) / 3);
      return { id, core: id % 6, socket: node, numaNode: node, uncoreCache: node };
    }),
  });
  const options = { preferClosestNumaNodes: false, maxAllowableNumaNodes: 8 };
  const node = new NodeDriver(topology, {
    reserved: '0-1,3-4,10',
    options: { fullPcpusOnly: true },
    topologyManager: { policy: 'single-numa-node', scope: 'container', options },
  });
  expect(node.run(`ask p/app ${count}`).reply).toBe(reply);
});

describe('more NUMA nodes than can be aligned, by hotplug', () => {
  const many = buildTopology({
    cpus: Array.from({ length: 80 }, (_, id) => ({ id, core: id, socket: 0, numaNode: id >> 1, uncoreCache: 0 })),
  });
  const nodeOf = (policy: TopologyManagerPolicy): NodeDriver => {
    const options = { preferClosestNumaNodes: true, maxAllowableNumaNodes: 16 };
    return new NodeDriver(many, { topologyManager: { policy, scope: 'container', options } });
  };
  test('best-effort gives CPUs as without alignment', () => {
    expect(nodeOf('best-effort').run('ask p/app 3').reply).toMatch(/^cpus /);
  });
  test.each(['restricted', 'single-numa-node'] as const)('%s refuses', (policy) => {
    expect(nodeOf(policy).run('ask p/app 3').reply).toBe('refused RESOURCE_EXHAUSTED');
  });
});

describe('scope pod', () => {
  test('without the sum of the pod, CPUs that an init container left idle do not force its node', () => {
    const node = nodeWith('single-numa-node', 'pod').run('make p/init 1; end p/init; ask p/app 4');
    expect(node.reply).toBe('cpus 2-3,6-7');
  });

  test('nor do CPUs that other containers of the pod run on: each container is aligned alone', () => {
    const node = nodeWith('single-numa-node', 'pod').run('make p/a 1; ask p/b 4');
    expect(node.reply).toBe('cpus 2-3,6-7');
  });

  test('with the sum of the pod, CPUs that its other containers run on do', () => {
    const node = nodeWith('single-numa-node', 'pod');
    node.podFields.set('p', { podResources: { shares: 4 * 1024 } });
    expect(node.run('make p/a 1; ask p/b 4').reply).toBe('refused RESOURCE_EXHAUSTED');
  });

  test.each`
    sum      | reply
    ${false} | ${'cpus 16-29'}
    ${true}  | ${'cpus 16-29'}
  `(
    'an init container that has ended on a smaller node is no obstacle (sum of the pod known: $sum)',
    ({ sum, reply }) => {
      const topology = buildTopology({
        cpus: Array.from({ length: 32 }, (_, id) => {
          return { id, core: id, socket: id >> 4, numaNode: id >> 4, uncoreCache: id >> 4 };
        }),
      });
      const options = { preferClosestNumaNodes: false, maxAllowableNumaNodes: 8 };
      const topologyManager = { policy: 'single-numa-node', scope: 'pod', options } as const;
      const node = new NodeDriver(topology, { reserved: '0-2', topologyManager });
      if (sum) node.podFields.set('p', { podResources: { shares: 14 * 1024 } });
      expect(node.run('make p/init 1; end p/init; ask p/app 14').reply).toBe(reply);
    },
  );

  test('without the sum of the pod its own CPUs count: after an init container over two nodes the app is not refused', () => {
    expect(nodeWith('restricted', 'pod').run('make p/init 6; end p/init; ask p/app 2').reply).toMatch(/^cpus /);
  });

  test('the sum of the pod decides for its first container', () => {
    const node = nodeWith('single-numa-node', 'pod');
    node.podFields.set('p', { podResources: { shares: 5 * 1024 } });
    expect(node.run('ask p/a 2').reply).toBe('refused RESOURCE_EXHAUSTED');
    node.podFields.set('p', { podResources: { shares: 4 * 1024 } });
    expect(node.run('ask p/a 2').reply).toBe('cpus 2,6');
    expect(node.run('ask p/b 2').reply).toBe('cpus 3,7');
  });
});

describe('a resize to fewer CPUs', () => {
  /** Three NUMA nodes of four CPUs; CPU 0 is reserved. */
  const three = buildTopology({
    cpus: Array.from({ length: 12 }, (_, id) => ({
      id,
      core: id,
      socket: id >> 2,
      numaNode: id >> 2,
      uncoreCache: id >> 2,
    })),
  });
  const policies = ['best-effort', 'restricted', 'single-numa-node'] as const;
  const cases = policies.flatMap((policy) => (['container', 'pod'] as const).map((scope) => [policy, scope] as const));
  const nodeOf = (policy: TopologyManagerPolicy, scope: 'container' | 'pod'): NodeDriver => {
    const options = { preferClosestNumaNodes: false, maxAllowableNumaNodes: 8 };
    return new NodeDriver(three, { topologyManager: { policy, scope, options } });
  };

  test.each(cases)('%s, scope %s: keeps CPUs that it has, also where a lower node has become free', (policy, scope) => {
    const count = policy === 'single-numa-node' ? 4 : 8;
    const node = nodeOf(policy, scope).run(
      `make x/app 3; make p/app ${count}; end x/app; stop x; remove x; resize p/app 2`,
    );
    expect(node.reply).toBe('cpus 4-5');
  });

  test.each(cases)('%s, scope %s: is not refused beside containers of its pod on other nodes', (policy, scope) => {
    const node = nodeOf('none', 'container').run('make p/a 3; make p/b 6');
    const options = { preferClosestNumaNodes: false, maxAllowableNumaNodes: 8 };
    node.setRules({ topologyManager: { policy, scope, options } });
    const before = node.model.assignments.get('p/b')!.cpus;
    node.run('resize p/b 5');
    const { cpus } = node.model.assignments.get('p/b')!;
    expect([node.answer?.kind, cpus.size, cpus.isSubsetOf(before)]).toEqual(['ok', 5, true]);
  });
});
