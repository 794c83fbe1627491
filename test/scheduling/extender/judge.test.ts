import fc from 'fast-check';
import { Judge } from '../../../src/scheduling/extender/judge';
import { NodeRecords, type NodeZones } from '../../../src/scheduling/extender/cluster/node-records';
import { noVerdict } from '../../../src/scheduling/extender/verdict';
import type { TopologyState } from '../../../src/scheduling/extender/cluster/topology-state';
import { NO_VERDICT } from '../../../src/scheduling/load/load-verdict';
import { freeRoomOf, type PodToPlace } from '../../../src/core/fit';
import type { SchedulerPolicy } from '../../../src/scheduling/policy/policy';
import { readNodeTopology } from '../../../src/scheduling/topology/node-topology';
import { AWARENESS, cpusOf, podOf, topologyObject } from '../topology/objects';

const policyOf = (strategy?: 'MostAllocated' | 'LeastAllocated'): SchedulerPolicy => ({
  syncPolicy: [],
  predicate: [],
  priority: [],
  hotValue: [],
  ...(strategy && { wholeCpus: { strategy, weight: 2 } }),
});

/** A judge over nodes that the test sets, and can change. */
function createJudge() {
  const zones = new Map<string, NodeZones>();
  const records = new NodeRecords();
  let policy = policyOf();
  const state: Pick<TopologyState, 'zonesOf'> = { zonesOf: ({ name }) => zones.get(name)! };
  const judge = new Judge({
    plugins: { NodeResourceTopologyMatch: 2 },
    policy: () => policy,
    state: state as TopologyState,
  });
  return {
    reject: (pod: PodToPlace, node: string) => judge.reject(pod, records.of(node), NO_VERDICT),
    score: (pod: PodToPlace, node: string) => judge.score(pod, records.of(node), NO_VERDICT),
    setPolicy: (next: SchedulerPolicy) => void (policy = next),
    setNode: (name: string, ...used: readonly number[]) => {
      const { offer } = readNodeTopology(topologyObject({ name, zones: ['7', '8'] }))!;
      zones.set(name, {
        offer,
        free: freeRoomOf(offer, cpusOf(...used)),
        claims: undefined,
        verdict: noVerdict(),
      });
    },
  };
}

const alike = (uid: string) => podOf(['4'], { uid, name: uid });

test('given a pod like the one before: it fits as that did, until the node changes', () => {
  const { reject, score, setNode } = createJudge();
  setNode('a', 2, 0);
  expect(reject(alike('u1'), 'a')).toBeUndefined();
  expect(reject(alike('u2'), 'a')).toBeUndefined();
  setNode('a', 4, 5);
  expect(reject(alike('u3'), 'a')).toMatchObject({ subject: 'cpu', value: 4, limit: 3 });
  expect(score(alike('u3'), 'a').total).toBe(0);
});

test.each([
  ['more CPUs', podOf(['8'])],
  ['other containers of its own', podOf(['4', '4'])],
])('given a pod with %s than the one before: its own fit counts', (_name, pod) => {
  const { reject, setNode } = createJudge();
  setNode('a', 2, 1);
  expect(reject(alike('u1'), 'a')).toBeUndefined();
  expect(reject(pod, 'a')).toMatchObject({ value: 8, limit: 7 });
});

test('given a policy that packs instead: the fit before is not used', () => {
  const { score, setNode, setPolicy } = createJudge();
  setNode('a', 0, 4);
  const pod = alike('u1');
  setPolicy(policyOf('LeastAllocated'));
  expect(score(pod, 'a').wholeCpus).toBe(43); // node0 keeps 3 of 7
  setPolicy(policyOf('MostAllocated'));
  expect(score(pod, 'a').wholeCpus).toBe(100); // node1 is full
});

test('given any pods and changes of nodes: a judge that remembers says what a new one says', () => {
  const cpus = fc.integer({ min: 1, max: 9 });
  const pods = fc.record({
    kind: fc.constant('pod' as const),
    cpus: fc.array(cpus, { minLength: 1, maxLength: 2 }),
    awareness: fc.constantFrom('true', 'false', ''),
    owner: fc.constantFrom('ReplicaSet', 'DaemonSet'),
  });
  const changes = fc.record({
    kind: fc.constant('change' as const),
    node: fc.nat(2),
    used: fc.tuple(fc.nat(7), fc.nat(8)),
  });
  const policies = fc.record({
    kind: fc.constant('policy' as const),
    strategy: fc.constantFrom('MostAllocated', 'LeastAllocated', undefined),
  });
  fc.assert(
    fc.property(fc.array(fc.oneof({ weight: 4, arbitrary: pods }, changes, policies), { maxLength: 30 }), (steps) => {
      const [kept, names] = [createJudge(), ['n0', 'n1', 'n2']];
      const used = new Map<string, readonly number[]>(names.map((name) => [name, [0, 0]]));
      let policy = policyOf();
      for (const name of names) kept.setNode(name, 0, 0);
      for (const [i, step] of steps.entries()) {
        if (step.kind === 'change') {
          used.set(names[step.node]!, step.used);
          kept.setNode(names[step.node]!, ...step.used);
        } else if (step.kind === 'policy') kept.setPolicy((policy = policyOf(step.strategy)));
        else {
          const { owner, awareness } = step;
          const shape = { uid: `u${i}`, name: `p${i}`, owner, annotations: { [AWARENESS]: awareness } };
          const pod = podOf(step.cpus.map(String), shape);
          const fresh = createJudge();
          fresh.setPolicy(policy);
          for (const name of names) {
            fresh.setNode(name, ...used.get(name)!);
            expect(kept.reject(pod, name)).toEqual(fresh.reject(pod, name));
            expect(kept.score(pod, name)).toEqual(fresh.score(pod, name));
          }
        }
      }
    }),
  );
});
