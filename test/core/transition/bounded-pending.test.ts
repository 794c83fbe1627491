import type { ContainerInfo, NodeEvent, PodInfo } from '../../../src/core/model/events';
import type { PodSpec } from '../../../src/core/model/pod-spec';
import { NodeModel } from '../../../src/core/model/node-model';
import { buildTopology, type Topology } from '../../../src/core/topology';
import { Draft, handle, retryPending } from '../../../src/core/transition';
import { mostDecisions } from '../../../src/core/transition/draft';
import { podOf, resourcesOf, settingsWith } from './node-driver';

/** `nodes` NUMA nodes of eight cores of two threads. */
function numaMachine(nodes: number): Topology {
  const cores = nodes * 8;
  return buildTopology({
    cpus: Array.from({ length: cores * 2 }, (_, id) => {
      const numaNode = Math.floor((id % cores) / 8);
      return { id, core: id % cores, socket: numaNode < nodes / 2 ? 0 : 1, numaNode, uncoreCache: numaNode };
    }),
  });
}

const containerOf = (uid: string, name: string, cpus: number, phase: ContainerInfo['phase']): ContainerInfo => ({
  id: `${uid}/${name}`,
  sandboxId: `sandbox-${uid}`,
  name,
  phase,
  cgroupsPath: `/kubepods/pod${uid}/${name}`,
  resources: resourcesOf(cpus),
});

class CrowdedNode {
  readonly model: NodeModel;
  private clock = 0;

  /** 16 NUMA nodes by default: a decision there is slow, so a transaction makes one. */
  constructor(nodes = 16) {
    const topologyManager = {
      policy: 'restricted',
      scope: 'container',
      options: { preferClosestNumaNodes: false, maxAllowableNumaNodes: 16 },
    } as const;
    this.model = new NodeModel(numaMachine(nodes), settingsWith({ topologyManager, podPolicies: ['none', 'static'] }));
  }

  send(event: NodeEvent): Draft {
    const draft = new Draft(this.model, new Date(++this.clock * 1000).toISOString());
    handle(draft, event);
    return draft;
  }

  make(uid: string, cpus: number): Draft {
    return this.send({
      kind: 'create-container',
      pod: podOf(uid),
      container: containerOf(uid, 'c', cpus, 'creating'),
    });
  }

  /** Retries once, and returns the containers that were decided on. */
  serve(tried = new Set<string>()): { readonly tried: Set<string>; readonly isCut: boolean } {
    const draft = new Draft(this.model, new Date(++this.clock * 1000).toISOString());
    retryPending(draft, tried);
    return { tried, isCut: draft.isCut };
  }

  /** Synchronizes running containers, each entitled to more CPUs than are free. */
  letWait(count: number, cpus: number): void {
    const pods: PodInfo[] = [...this.model.pods.values()];
    const containers: ContainerInfo[] = [...this.model.containers.values()].map((each) => ({
      ...each,
      phase: 'running',
    }));
    for (let i = 0; i < count; i++) {
      const uid = `w${String(i).padStart(3, '0')}`;
      pods.push(podOf(uid));
      containers.push(containerOf(uid, 'c', cpus, 'running'));
    }
    this.send({ kind: 'synchronize', pods: [...pods, podOf('a'), podOf('b')], containers });
  }

  waiting(): string[] {
    return [...this.model.containers.values()].flatMap(({ id, waitingSince }) =>
      waitingSince === undefined ? [] : [id],
    );
  }
}

test('the bound is one decision on 16 NUMA nodes, and 32 on a machine with few', () => {
  expect([1, 2, 8, 12, 16].map((nodes) => mostDecisions({ topology: numaMachine(nodes) }))).toEqual([
    32, 32, 32, 16, 1,
  ]);
});

test('given more waiting containers than one transaction decides on, then each transaction takes the next ones in the order of the queue', () => {
  const node = new CrowdedNode();
  node.make('a', 240);
  node.make('b', 2);
  node.letWait(5, 100);
  expect(node.waiting()).toHaveLength(5);
  const draft = node.send({ kind: 'pod-removed', sandboxId: 'sandbox-b' });
  expect(draft.isCut).toBe(true);
  const seen: string[][] = [];
  const tried = new Set<string>();
  for (let cut = true; cut;) {
    const before = [...tried];
    cut = node.serve(tried).isCut;
    seen.push([...tried].filter((id) => !before.includes(id)));
  }
  expect(seen).toEqual([['w000/c'], ['w001/c'], ['w002/c'], ['w003/c'], ['w004/c']]);
});

test('given a queue, then each release of CPUs serves the longest waiting container in the same event', () => {
  const node = new CrowdedNode();
  node.make('a', 240);
  node.letWait(5, 100);
  node.send({ kind: 'pod-removed', sandboxId: 'sandbox-a' });
  expect(node.waiting()).toEqual(['w001/c', 'w002/c', 'w003/c', 'w004/c']);
});

function specOf(uid: string, names: readonly string[], policy: string): PodSpec {
  return {
    uid,
    namespace: 'ns',
    name: uid,
    annotations: { 'cpusetd.io/policy': policy },
    qos: 'Guaranteed',
    finished: false,
    containers: names.map((name) => {
      return { name, kind: 'app', ended: false, requestMilliCpu: 2000, limitMilliCpu: 2000 };
    }),
  };
}

test('given a pod of many containers whose annotations change, then each transaction makes a bounded number of decisions, and all containers get one', () => {
  const node = new CrowdedNode();
  const names = ['c0', 'c1', 'c2', 'c3', 'c4'];
  node.send({ kind: 'pod-spec', spec: specOf('p', names, 'none') });
  for (const name of names)
    node.send({ kind: 'create-container', pod: podOf('p'), container: containerOf('p', name, 2, 'creating') });
  const pinned = (): number => node.model.assignments.size;
  expect(pinned()).toBe(0);
  const draft = node.send({ kind: 'pod-spec', spec: specOf('p', names, 'static') });
  expect({ pinned: pinned(), isCut: draft.isCut }).toEqual({ pinned: 1, isCut: true });
  const after: number[] = [];
  const tried = new Set<string>();
  for (let cut = true; cut;) {
    cut = node.serve(tried).isCut;
    after.push(pinned());
  }
  expect(after).toEqual([2, 3, 4, 5]);
  expect([...node.model.containers.values()].filter(({ blockedSwitch }) => blockedSwitch)).toEqual([]);
});
