import { CpuSet } from '../../../src/core/cpuset';
import { buildTopology, type Topology } from '../../../src/core/topology';
import type { DomainEvent } from '../../../src/core/transition';
import { specOf } from '../../support/spec-of';
import { cpus, NodeDriver, type Rules } from './node-driver';

/** NUMA node 0 has the CPUs 0-3, node 1 the CPUs 4-7; CPU 0 is reserved. */
const TWO_NODES = machineOfNodes(1);
/** Cores of two threads: node 0 has 0-3 and 8-11, node 1 has 4-7 and 12-15; CPU c and c + 8 are one core. */
const THREADS = machineOfNodes(2);

function machineOfNodes(threads: number): Topology {
  return buildTopology({
    cpus: Array.from({ length: 8 * threads }, (_, id) => {
      const node = (id % 8) >> 2;
      return { id, core: id % 8, socket: node, numaNode: node, uncoreCache: node };
    }),
  });
}

interface Given {
  /** The scheduler's choice, by NUMA node. */
  readonly result: readonly number[];
  /** The pod's requests in all. */
  readonly podCpus: number;
  readonly rules?: Rules;
  readonly topology?: Topology;
}

/** Remembers what all events reported. */
class NotedNode extends NodeDriver {
  readonly allReported: DomainEvent[] = [];

  override change(work: Parameters<NodeDriver['change']>[0]): void {
    super.change(work);
    this.allReported.push(...this.reported);
  }
}

function nodeOf({ result, podCpus, rules = {}, topology = TWO_NODES }: Given): NotedNode {
  const node = new NotedNode(topology, rules);
  node.podFields.set('s', { annotations: resultOn(result), podResources: { shares: podCpus * 1024 } });
  return node;
}

function resultOn(counts: readonly number[]): Record<string, string> {
  const zones = counts.map((cpu, id) => ({
    name: `node${id}`,
    type: 'Node',
    resources: { capacity: { cpu: `${cpu}` } },
  }));
  return { 'topology.crane.io/topology-result': JSON.stringify(zones) };
}

function show(node: NodeDriver): string {
  return [...node.model.assignments.values()]
    .map(({ podUid, containerName, cpus: set }) => `${podUid}/${containerName} ${set.toString()}`)
    .join('; ');
}

function ignoredOf({ allReported }: NotedNode): unknown[] {
  return allReported.flatMap((event) => (event.kind === 'annotation-ignored' ? [event.because] : []));
}

const tm = (
  policy: 'best-effort' | 'restricted' | 'single-numa-node',
  scope: 'container' | 'pod' = 'container',
): Rules => ({
  topologyManager: { policy, scope, options: { preferClosestNumaNodes: false, maxAllowableNumaNodes: 8 } },
});

describe('given a result of the scheduler that fits, then static follows it', () => {
  const full: Rules = { options: { fullPcpusOnly: true } };
  const none: Rules = {};
  test.each<[string, number[], string, Rules, Topology, string]>([
    ['on the chosen node', [0, 2], 'make s/a 2', none, TWO_NODES, 's/a 4-5'],
    ['spread over the nodes as chosen', [1, 3], 'make s/a 4', none, TWO_NODES, 's/a 1,4-6'],
    ['with CPUs of its own for each container', [2, 2], 'make s/a 2; make s/b 2', none, TWO_NODES, 's/a 1-2; s/b 4-5'],
    ['on the node where it fits best, so that the next container fits too', [2, 1], 'make s/a 1; make s/b 2', none, TWO_NODES, 's/a 4; s/b 1-2'],
    ['over both nodes if one has too few', [1, 2], 'make s/a 3', none, TWO_NODES, 's/a 1,4-5'],
    ['with the CPUs of an exited container of the pod', [0, 2], 'make s/a 2; end s/a; make s/b 2', none, TWO_NODES, 's/b 4-5'],
    ['a restarted container keeps its CPUs', [0, 2], 'make s/a 2; end s/a; make s/a 2', none, TWO_NODES, 's/a 4-5'],
    ['with whole cores under full-pcpus-only', [0, 4], 'make s/a 4', full, THREADS, 's/a 4-5,12-13'],
    ['on one node under single-numa-node', [0, 2], 'make s/a 2', tm('single-numa-node'), TWO_NODES, 's/a 4-5'],
    ['for the pod on one node', [0, 3], 'make s/a 1; make s/b 2', tm('single-numa-node', 'pod'), TWO_NODES, 's/a 4; s/b 5-6'],
    ['over two nodes where one has too few, under best-effort', [3, 2], 'make s/a 5', tm('best-effort'), TWO_NODES, 's/a 1-5'],
    ['over two nodes for the pod, under restricted', [3, 3], 'make s/a 3; make s/b 3', tm('restricted', 'pod'), TWO_NODES, 's/a 1-3; s/b 4-6'],
  ])('%s', (_name, result, history, rules, topology, where) => {
    const podCpus = result.reduce((sum, count) => sum + count, 0);
    const node = nodeOf({ result, podCpus, rules, topology }).run(history);
    expect(show(node)).toBe(where);
    expect(ignoredOf(node)).toEqual([]);
    expect([...node.model.assignments.values()].map(({ scope }) => scope)).not.toContain('pod');
  }); // prettier-ignore
});

describe('given a result that can’t be followed, then static ignores it and says why', () => {
  const full: Rules = { options: { fullPcpusOnly: true } };
  const odd = { rules: full, topology: THREADS };
  test.each<[string, Omit<Given, 'podCpus'> & { podCpus?: number }, string, string, RegExp]>([
    ['the node has too few left', { result: [0, 2] }, 'make o/a 4; make s/a 2', 'o/a 4-7; s/a 1-2', /it names 2 of NUMA node 1, and 0 can be/],
    ['it names more than the pod asks for', { result: [0, 5], podCpus: 2 }, 'make s/a 2', 's/a 1-2', /names 5 in all, but the pod asks for 2/],
    ['it names fewer than the container asks for', { result: [0, 1], podCpus: 2 }, 'make s/a 2', 's/a 1-2', /container a alone asks for 2/],
    ['other containers have it already', { result: [0, 2], podCpus: 4 }, 'make s/a 2; make s/b 2', 's/a 4-5; s/b 6-7', /leaves the container fewer than 2 CPUs;/],
    ['it splits cores under full-pcpus-only', { result: [3, 1], ...odd }, 'make s/a 4', 's/a 1-2,9-10', /fewer than 4 CPUs in whole cores/],
    ['the topology manager requires one node', { result: [1, 1], rules: tm('single-numa-node') }, 'make s/a 2', 's/a 1-2', /single-numa-node chooses NUMA node 0/],
    ['the topology manager prefers one node', { result: [1, 1], rules: tm('best-effort') }, 'make s/a 2', 's/a 1-2', /best-effort chooses NUMA node 0/],
    ['it names no CPUs', { result: [0, 0], podCpus: 2 }, 'make s/a 2', 's/a 1-2', /it names no CPUs/],
    ['it can’t be read', { result: [1.5], podCpus: 2 }, 'make s/a 2', 's/a 1-2', /does not name a whole number of CPUs/],
  ])('%s', (_name, given, history, where, because) => {
    const podCpus = given.podCpus ?? given.result.reduce((sum, count) => sum + count, 0);
    const node = nodeOf({ ...given, podCpus }).run(history);
    expect(node.answer?.kind).toBe('ok');
    expect(show(node)).toBe(where);
    expect(ignoredOf(node)).toEqual([expect.stringMatching(because)]);
    expect(ignoredOf(node)[0]).toMatch(/; CPUs are chosen here instead$/);
  }); // prettier-ignore

  test('when a restarted container keeps CPUs elsewhere, then the remark says so', () => {
    const node = nodeOf({ result: [0, 2], podCpus: 2 });
    node.run('make o/a 4; make s/a 2; stop o; end o/a; forget o/a; remove o; end s/a; make s/a 2');
    expect(show(node)).toBe('s/a 1-2');
    expect(ignoredOf(node)).toEqual([
      'it names 2 of NUMA node 1, and 0 can be given there now; CPUs are chosen here instead',
      'the container keeps the CPUs that it had before; CPUs are chosen here instead',
    ]);
  });

  test('when the container does not fit, then it is refused as without a result', () => {
    const node = nodeOf({ result: [0, 2], podCpus: 2 }).run('make o/a 6; make s/a 2');
    expect(node.answer).toMatchObject({
      kind: 'refuse',
      message: expect.stringMatching(/^asked for 2 exclusive CPUs, 1 can/),
    });
  });
});

test('given a result that leaves too little to others, then the floor of the pool and numa containers keep their CPUs', () => {
  const node = nodeOf({ result: [0, 4], podCpus: 4, rules: { podPolicies: ['numa'] } });
  node.podFields.set('n', { annotations: { 'cpusetd.io/policy': 'numa', ...resultOn([0, 1]) } });
  node.run('make n/a 1; make s/a 4');
  expect(show(node)).toBe('n/a ; s/a 1-4');
  expect(ignoredOf(node)).toEqual([expect.stringMatching(/4 of NUMA node 1, and 3 can be given there now/)]);
});

describe('given the pod’s spec', () => {
  const withSpec = (containers: string, result: readonly number[]): NotedNode => {
    const node = new NotedNode(TWO_NODES);
    node.send({ kind: 'pod-spec', spec: specOf('s', containers, { annotations: resultOn(result) }) });
    return node;
  };

  test('then a sidecar gets no CPUs of the result', () => {
    const node = withSpec('proxy sidecar 1, db 2', [0, 2]).run('make s/proxy 1; make s/db 2');
    expect(show(node)).toBe('s/proxy 1; s/db 4-5');
    expect(ignoredOf(node)).toEqual([]);
  });

  test('then the app containers get the CPUs of an init container', () => {
    const node = withSpec('setup init 2, db 2', [0, 2]).run('make s/setup 2; end s/setup; make s/db 2');
    expect(show(node)).toBe('s/db 4-5');
  });

  test('when only the spec has the result, and the sandbox does not, then it is followed', () => {
    const node = withSpec('db 2', [0, 2]).run('make s/db 2');
    expect(show(node)).toBe('s/db 4-5');
  });

  test('when the result changes, then no running container moves', () => {
    const node = withSpec('db 2', [0, 2]).run('make s/db 2');
    node.send({ kind: 'pod-spec', spec: specOf('s', 'db 2', { annotations: resultOn([2, 0]) }) });
    expect(show(node)).toBe('s/db 4-5');
    expect(node.container('s/db')?.blockedSwitch).toBeUndefined();
    expect(node.moves).toEqual([]);
  });
});

test('given a lost state, then the container keeps the CPUs that it runs on, whatever the result says', () => {
  const first = nodeOf({ result: [0, 2], podCpus: 2 }).run('make s/a 2');
  const { pod, container } = first.infoOf('s/a');
  const second = new NodeDriver(TWO_NODES);
  const running = { ...container, phase: 'running' as const };
  second.send({ kind: 'synchronize', pods: [pod], containers: [running] }, new Map([[container.id, cpus('2-3')]]));
  expect(show(second)).toBe('s/a 2-3');
  expect([...second.model.assignments.values()][0]?.mems).toEqual(CpuSet.empty);
});
