import type { HugePages } from '../../../src/core/huge-pages';
import type { TopologyManagerPolicy, TopologyManagerSettings } from '../../../src/core/model/settings';
import { buildTopology, type Topology } from '../../../src/core/topology';
import { specOf } from '../../support/spec-of';
import { NodeDriver, type Rules } from './node-driver';

const MiB = 2 ** 20;
const GiB = 2 ** 30;
const SMALL = 'hugepages-2Mi';
const LARGE = 'hugepages-1Gi';
const pages = (count: number): HugePages => ({ [SMALL]: count * 2 * MiB });

/** CPUs 0-3 and 4-7 on two NUMA nodes of 8 GiB, with these huge pages; CPU 0 is reserved. */
function machine(...onNodes: readonly HugePages[]): Topology {
  return buildTopology({
    cpus: Array.from({ length: 4 * onNodes.length }, (_, id) => {
      return { id, core: id, socket: id >> 2, numaNode: id >> 2, uncoreCache: id >> 2 };
    }),
    memoryNodes: onNodes.map((hugePages, id) => ({
      id,
      memoryBytes: 8 * GiB,
      distances: new Map(onNodes.map((_, to) => [to, to === id ? 10 : 20])),
      ...(Object.keys(hugePages).length > 0 && { hugePages }),
    })),
  });
}

function driver(topology: Topology, rules: Rules, asks: Readonly<Record<string, HugePages>>): NodeDriver {
  const node = new NodeDriver(topology, rules);
  for (const [target, hugePages] of Object.entries(asks)) node.bringing.set(target, { hugePages });
  return node;
}

function alignedBy(policy: TopologyManagerPolicy, scope: TopologyManagerSettings['scope'] = 'container'): Rules {
  return { topologyManager: { policy, scope, options: { preferClosestNumaNodes: false, maxAllowableNumaNodes: 8 } } };
}

/** Node 1 has all of the 64 pages: without them CPUs come from node 0. */
const ON_NODE_1 = machine({}, pages(64));
const cpusOf = (node: NodeDriver, target: string): string => node.container(target)!.promise!.cpus.toString();
const refusal = (node: NodeDriver): string => (node.answer as { message: string }).message;

describe('a container that asks for huge pages', () => {
  test.each([undefined, 'best-effort', 'restricted', 'single-numa-node'] as const)(
    'gets CPUs where they are, with topology-manager-policy %s',
    (policy) => {
      const node = driver(ON_NODE_1, policy ? alignedBy(policy) : {}, { 'p/app': pages(64) });
      expect(node.run('ask q/other 2').reply).toBe('cpus 1-2');
      expect(node.run('ask p/app 2').reply).toBe('cpus 4-5');
      expect(node.container('p/app')!.because).toContain('1');
    },
  );

  test.each([
    [undefined, 'cpus 1-2', 'free on the node'],
    ['best-effort', 'cpus 1-2', 'not preferred'],
  ] as const)('with policy %s it starts elsewhere when no CPUs are free there', (policy, reply, because) => {
    const asks = { 'q/app': pages(8), 'p/app': pages(8) };
    const node = driver(ON_NODE_1, policy ? alignedBy(policy) : {}, asks).run('make q/app 4; ask p/app 2');
    expect(node.reply).toBe(reply);
    expect(node.container('p/app')!.because).toContain(because);
  });

  test.each(['restricted', 'single-numa-node'] as const)('%s refuses when others were promised the pages', (policy) => {
    const node = driver(ON_NODE_1, alignedBy(policy), { 'q/app': pages(60), 'p/app': pages(5), 'r/app': pages(4) });
    expect(node.run('make q/app 2; ask p/app 1').reply).toBe('refused RESOURCE_EXHAUSTED');
    expect(refusal(node)).toContain(SMALL);
    expect(node.run('ask r/app 1').reply).toBe('cpus 6');
  });

  test('gets them again when the other has ended', () => {
    const node = driver(ON_NODE_1, alignedBy('restricted'), { 'q/app': pages(60), 'p/app': pages(5) });
    expect(node.run('make q/app 2; end q/app; stop q; remove q; ask p/app 1').reply).toBe('cpus 4');
  });

  test('keeps its CPUs when it is created again, although the pages are promised to another by now', () => {
    for (const rules of [{}, alignedBy('restricted')]) {
      const node = driver(ON_NODE_1, rules, { 'p/app': pages(64), 'z/app': pages(64) });
      node.run('make p/app 2; end p/app; make z/app 1');
      expect(cpusOf(node, 'z/app')).toBe('6');
      expect(node.run('ask p/app 2').reply).toBe('cpus 4-5');
    }
  });

  test('with two sizes, a node has to have both', () => {
    const both = { [SMALL]: 8 * MiB, [LARGE]: GiB };
    const topology = machine({ [SMALL]: 64 * MiB }, { [SMALL]: 64 * MiB, [LARGE]: GiB });
    for (const rules of [{}, alignedBy('single-numa-node')])
      expect(driver(topology, rules, { 'p/app': both }).run('ask p/app 2').reply).toBe('cpus 4-5');
  });

  test('with the two sizes on different nodes, restricted takes both nodes, as an idle machine would need', () => {
    const topology = machine({ [SMALL]: 64 * MiB }, { [LARGE]: GiB });
    const asks = { 'p/app': { [SMALL]: 8 * MiB, [LARGE]: GiB } };
    expect(driver(topology, alignedBy('single-numa-node'), asks).run('ask p/app 2').reply).toMatch(/^refused/);
    expect(driver(topology, alignedBy('restricted'), asks).run('ask p/app 5').reply).toMatch(/^cpus /);
  });

  test.each([
    ['on a machine without huge pages', machine({}, {}), { [SMALL]: 2 * MiB }],
    ['of a size that the machine does not have', ON_NODE_1, { [LARGE]: GiB }],
  ])('%s has no opinion', (_name, topology, asked) => {
    expect(driver(topology, alignedBy('restricted'), { 'p/app': asked }).run('ask p/app 2').reply).toBe('cpus 1-2');
  });

  test('in scope pod with the sum of the pod, has no opinion', () => {
    const node = driver(ON_NODE_1, alignedBy('restricted', 'pod'), { 'p/app': pages(64) });
    node.podFields.set('p', { podResources: { shares: 2 * 1024 } });
    expect(node.run('ask p/app 2').reply).toBe('cpus 1-2');
  });

  test('of which the API server tells before it is created, has its CPUs planned where the pages are', () => {
    const node = driver(ON_NODE_1, {}, { 'p/app': pages(64) });
    node.send({ kind: 'synchronize', pods: [], containers: [] });
    const spec = specOf('p', 'app 2');
    node.send({ kind: 'pod-spec', spec: { ...spec, containers: spec.containers.map((container) => ({ ...container, limitHugePages: pages(64) })) } }); // prettier-ignore
    expect(node.state).toBe('p/app 4-5 idle; pool 0-3,6-7');
    expect(node.run('ask p/app 2').reply).toBe('cpus 4-5');
  });

  describe('of which only the API server tells, as containerd drops them by default,', () => {
    /** The pages of a container, as its spec has them. */
    function report(node: NodeDriver, uid: string, count: number): NodeDriver {
      const spec = specOf(uid, 'app 2');
      const containers = spec.containers.map((container) => ({ ...container, limitHugePages: pages(count) }));
      node.send({ kind: 'pod-spec', spec: { ...spec, containers } });
      return node;
    }

    test('gets CPUs where they are', () => {
      for (const rules of [{}, alignedBy('restricted')])
        expect(report(new NodeDriver(ON_NODE_1, rules), 'p', 64).run('ask p/app 2').reply).toBe('cpus 4-5');
    });

    test('is refused when others were promised the pages, whoever told of them', () => {
      const node = driver(ON_NODE_1, alignedBy('restricted'), { 'r/app': pages(5) });
      report(report(node, 'q', 60), 'p', 5).run('make q/app 2');
      for (const target of ['p/app', 'r/app']) {
        expect(node.run(`ask ${target} 2`).reply).toBe('refused RESOURCE_EXHAUSTED');
        expect(refusal(node)).toContain(SMALL);
      }
    });

    test('counts as soon as the API server tells of it, once, and until its CPUs are free', () => {
      const node = driver(ON_NODE_1, {}, { 'q/app': pages(8) });
      node.bringing.set('p/app', { cpus: '6-7' });
      node.run('make p/app 2; make q/app 2');
      const promised = () => node.model.promisedHugePages().get(SMALL)?.get(1);
      expect(promised()).toBe(8 * 2 * MiB);
      report(report(node, 'p', 16), 'q', 8);
      expect(promised()).toBe(24 * 2 * MiB);
      node.run('end p/app');
      expect(promised()).toBe(24 * 2 * MiB);
      node.run('stop p; remove p').send({ kind: 'pod-spec-gone', uid: 'p' });
      expect(promised()).toBe(8 * 2 * MiB);
    });

    test('asks for none where its message has those of the pod as a whole, as each one of the pod', () => {
      const node = driver(ON_NODE_1, alignedBy('restricted'), { 'p/a': pages(40), 'p/b': pages(40) });
      node.send({ kind: 'pod-spec', spec: specOf('p', 'a 1, b 1') });
      expect(node.run('make p/a 1; make p/b 1').state).toBe('p/a 1; p/b 2; pool 0,3-7');
      expect(node.model.promisedHugePages().get(SMALL)).toBeUndefined();
    });
  });

  describe('beside others that are planned,', () => {
    /** A pod of containers with one CPU and so many pages each. */
    function plan(node: NodeDriver, uid: string, ...counts: readonly number[]): NodeDriver {
      const spec = specOf(uid, counts.map((_, i) => `c${i} 1`).join(', '));
      const containers = spec.containers.map((container, i) => ({ ...container, limitHugePages: pages(counts[i]!) }));
      node.send({ kind: 'pod-spec', spec: { ...spec, containers } });
      return node;
    }
    const synchronized = (topology: Topology, rules: Rules): NodeDriver => {
      const node = new NodeDriver(topology, rules);
      node.send({ kind: 'synchronize', pods: [], containers: [] });
      return node;
    };

    test('has its CPUs planned where they leave it enough, in its own pod too', () => {
      for (const rules of [{}, alignedBy('restricted')]) {
        const node = plan(synchronized(machine(pages(64), pages(64)), rules), 'p', 40, 40);
        expect(node.state).toBe('p/c0 1 idle; p/c1 4 idle; pool 0,2-3,5-7');
        expect(node.run('make p/c0 1; make p/c1 1').state).toBe('p/c0 1; p/c1 4; pool 0,2-3,5-7');
      }
    });

    test('is refused where they leave too few, until the API server deletes their pod', () => {
      const node = plan(synchronized(ON_NODE_1, alignedBy('restricted')), 'p', 60);
      node.bringing.set('q/app', { hugePages: pages(5) });
      expect(node.run('ask q/app 1').reply).toBe('refused RESOURCE_EXHAUSTED');
      expect(refusal(node)).toContain(SMALL);
      node.send({ kind: 'pod-spec-gone', uid: 'p' });
      expect(node.run('ask q/app 1').reply).toBe('cpus 4');
    });

    /** A pod of containers with these CPUs, each of which asks for 40 pages of 64. */
    const planAll = (node: NodeDriver, uid: string, containers: string): NodeDriver => {
      const spec = specOf(uid, containers);
      const asking = spec.containers.map((container) => ({ ...container, limitHugePages: pages(40) }));
      node.send({ kind: 'pod-spec', spec: { ...spec, containers: asking } });
      return node;
    };

    test.each([
      [
        'an init container ends before the app container comes',
        'setup init 1, app 2',
        'make p/setup 1; end p/setup; make p/app 2',
      ],
      [
        'an app container, after init containers',
        'a init 2, b init 1, app 1',
        'make p/a 2; end p/a; make p/b 1; end p/b; make p/app 1',
      ],
    ])('%s: the pages serve both', (_name, containers, life) => {
      const node = planAll(synchronized(ON_NODE_1, alignedBy('restricted')), 'p', containers);
      for (const step of life.split(';')) expect(node.run(step).answer?.kind).toBe('ok');
    });

    test('beside an init and an app container that need the pages one after the other, has the rest', () => {
      const node = planAll(synchronized(ON_NODE_1, alignedBy('restricted')), 'p', 'setup init 1, app 2');
      node.bringing.set('q/app', { hugePages: pages(25) }).set('r/app', { hugePages: pages(24) });
      for (const step of ['', 'make p/setup 1', 'end p/setup; make p/app 2']) {
        node.run(step);
        expect(node.run('ask q/app 1').reply).toBe('refused RESOURCE_EXHAUSTED');
      }
      expect(node.run('ask r/app 1').reply).toBe('cpus 6');
    });

    test('an init container has its pages where an app container has them later', () => {
      const node = planAll(
        synchronized(machine(pages(40), pages(40)), alignedBy('single-numa-node')),
        'p',
        'setup init 1, app 2',
      );
      node.run('make p/setup 1; end p/setup; make p/app 2');
      expect(node.state).toBe('p/app 1-2; pool 0,3-7');
    });

    test('sums cost nothing for pods that have finished, and for sizes that the machine does not have', () => {
      const node = planAll(synchronized(ON_NODE_1, alignedBy('restricted')), 'p', 'app 2');
      let summed = 0;
      const sums = node.model.promisedHugePages.bind(node.model);
      node.model.promisedHugePages = (beside) => (summed++, sums(beside));
      node.bringing.set('q/app', { hugePages: { 'hugepages-1Gi': 1 << 30, 'hugepages-64Ki': 1 << 16 } });
      node.run('ask q/app 1');
      expect(summed).toBe(0);
      const spec = specOf('old', 'app 2', { finished: true });
      const asking = spec.containers.map((container) => ({ ...container, limitHugePages: pages(40) }));
      node.send({ kind: 'pod-spec', spec: { ...spec, containers: asking } });
      expect(sums().get(SMALL)?.get(1)).toBe(40 * 2 * MiB);
    });

    test('counts with one that has ended and may come back, until its pod is gone', () => {
      const node = plan(synchronized(ON_NODE_1, alignedBy('restricted')), 'p', 60).run('make p/c0 1; end p/c0');
      node.bringing.set('q/app', { hugePages: pages(5) });
      expect(node.run('ask q/app 1').reply).toBe('refused RESOURCE_EXHAUSTED');
      node.run('stop p; remove p').send({ kind: 'pod-spec-gone', uid: 'p' });
      expect(node.run('ask q/app 1').reply).toBe('cpus 4');
    });
  });

  test('follows the memory nodes that its request brought, and not the pages', () => {
    const node = new NodeDriver(ON_NODE_1, alignedBy('restricted'));
    node.bringing.set('p/app', { mems: '0', hugePages: pages(64) });
    expect(node.run('ask p/app 2').reply).toBe('cpus 1-2');
  });
});

describe('memory nodes that follow', () => {
  const follow: Rules = { memoryNodes: 'follow' };
  const memsOf = (node: NodeDriver, target: string) => node.container(target)!.promise!.mems.toString();

  test('are those with the pages', () => {
    const node = driver(ON_NODE_1, follow, { 'p/app': pages(64) }).run('make p/app 2');
    expect([cpusOf(node, 'p/app'), memsOf(node, 'p/app')]).toEqual(['4-5', '1']);
  });

  test('are widened to the nodes that have what is missing, and to no others', () => {
    const node = driver(machine({}, {}, pages(64)), follow, { 'p/app': pages(64) });
    node.bringing.set('q/app', { cpus: '8-11' });
    node.run('make q/app 4; make p/app 2');
    expect([cpusOf(node, 'p/app'), memsOf(node, 'p/app')]).toEqual(['1-2', '0,2']);
  });

  test('say why they are widened', () => {
    const node = driver(ON_NODE_1, follow, { 'q/app': pages(8), 'p/app': pages(8) }).run('make q/app 4; make p/app 2');
    expect([cpusOf(node, 'p/app'), memsOf(node, 'p/app')]).toEqual(['1-2', '0-1']);
    expect(node.container('p/app')!.because).toContain(
      `widened: its own nodes have less free than its limit of ${SMALL}`,
    );
  });

  test('take no ordinary memory from huge pages', () => {
    const topology = machine({ [LARGE]: 8 * GiB }, {});
    const node = new NodeDriver(topology, follow).run('make p/app 2');
    expect(memsOf(node, 'p/app')).toBe('0-1');
  });
});

describe('promised huge pages', () => {
  const promisedOf = (node: NodeDriver) =>
    [...node.model.promisedHugePages()].map(([resource, byNode]) => [resource, [...byNode]]);

  test('count on the memory nodes of a container, else on those of its CPUs, in proportion to the pages there', () => {
    const node = driver(machine(pages(48), pages(16)), {}, { 'p/app': pages(4), 'q/app': pages(8) });
    node.run('make p/app 2; make q/app 5');
    expect(promisedOf(node)).toEqual([[SMALL, [[0, (4 + 6) * 2 * MiB], [1, 2 * 2 * MiB]]]]); // prettier-ignore
    node.run('end q/app');
    expect(promisedOf(node)).toEqual([[SMALL, [[0, 4 * 2 * MiB]]]]);
  });

  test('of a container that shares are not counted: they can be anywhere', () => {
    const node = driver(machine(pages(64), pages(64)), {}, { 'p/app': pages(4) }).run('make p/app 0.5');
    expect(promisedOf(node)).toEqual([[SMALL, []]]);
  });

  test('add up to the limit, in whole bytes', () => {
    const node = driver(machine(pages(1), pages(1), pages(1)), {}, { 'p/app': { [SMALL]: 4 * MiB } }).run('make p/app 11'); // prettier-ignore
    const parts = [...node.model.promisedHugePages().get(SMALL)!.values()];
    expect(parts.every(Number.isInteger)).toBe(true);
    expect(parts.reduce((a, b) => a + b)).toBe(4 * MiB);
  });
});
