import { parseTopologyResult, TOPOLOGY_RESULT } from '../../../src/core/annotations/topology-result';
import { createRandom } from '../../support/random';
import { waitUntil } from '../../support/wait-until';
import { requireApiServer } from '../../e2e/rig/api-server';
import { Cluster, schedulingManifests } from '../scheduling/rig/cluster';
import { FakeNode } from '../scheduling/rig/fake-node';
import { cpusOfPod, type Pod } from '../scheduling/rig/objects';
import { Replicas } from './rig/replicas';

jest.setTimeout(600_000);

/** The first node has two NUMA nodes of 8 CPUs, the second four of 8, the third four of 16. CPU 0 is reserved. */
const machines = { 'node-a': '2x4x2-2numa', 'node-b': '2x8x2-4numa-snc', 'node-c': '4x8x2-4numa-64' };
const waves = 6;
const podsInWave = 25;
const sizes = [1, 1, 2, 2, 3, 4, 5, 6, 8, 11, 15];
const seed = Number(process.env['CPUSETD_TEST_SEED'] ?? Date.now() % 100_000);
const scheduler = 'default-scheduler';

requireApiServer()(
  'kube-scheduler with two replicas of the extender, on nodes of which cpusetd publishes the topology',
  () => {
    let cluster: Cluster;
    let nodes: FakeNode[] = [];
    let replicas: Replicas | undefined;

    beforeAll(async () => {
      cluster = await Cluster.start({ kind: 'crane', manifests: schedulingManifests });
      for (const [name, machine] of Object.entries(machines))
        nodes.push(
          await FakeNode.start({ cluster, name, machine, documentedFor: 'For crane-scheduler and the extender' }),
        );
      await waitUntil('the topologies', () => nodes.every(({ name }) => cluster.topologies.byName.has(name)));
      replicas = await Replicas.start(cluster);
    });
    afterAll(async () => {
      await replicas?.stop();
      for (const node of nodes) await node.stop();
      nodes = [];
      await cluster?.stop();
    });

    const allPods = (): Pod[] => [...cluster.pods.byName.values()];
    const refusals = () => nodes.flatMap(({ kubelet }) => kubelet.refusals);
    const isBound = ({ spec }: Pod): boolean => spec.nodeName !== undefined;
    const isRunning = ({ status }: Pod): boolean => status.phase === 'Running';
    const pending = (): Pod[] => allPods().filter((pod) => !isBound(pod));
    /** True when the scheduler has tried it and found no node. */
    const wasRefused = ({ status }: Pod): boolean =>
      status.conditions?.some(({ type, status: holds }) => type === 'PodScheduled' && holds === 'False') === true;

    /** The pods that run on other CPUs than their annotation says, with both. */
    const findMisplaced = (): unknown[] =>
      allPods()
        .filter(isRunning)
        .flatMap((pod) => {
          const node = nodes.find(({ name }) => name === pod.spec.nodeName)!;
          const annotation = pod.metadata.annotations?.[TOPOLOGY_RESULT];
          const parsed = parseTopologyResult(annotation ?? '');
          const given = Object.fromEntries(node.countByNumaNode(pod.metadata.name));
          const said = parsed.ok ? Object.fromEntries(parsed.result) : annotation;
          return JSON.stringify(said) === JSON.stringify(given) ? [] : [{ pod: pod.metadata.name, said, given }];
        });

    test('waves of pods of 1 to 15 CPUs: none that is bound is refused by cpusetd, and each runs on the NUMA node of its annotation', async () => {
      const random = createRandom(seed);
      let bound = 0;
      for (let wave = 0; wave < waves; wave++) {
        const leaving = allPods().filter((pod) => random.chance(isBound(pod) ? 0.6 : 0.3));
        await cluster.remove(...leaving.map(({ metadata }) => metadata.name));
        for (let n = 0; n < podsInWave; n++)
          await cluster.create({ name: `wave-${wave}-${n}`, cpus: random.pick(sizes), scheduler });
        await waitUntil('the pods are known', () => cluster.pods.byName.has(`wave-${wave}-${podsInWave - 1}`));
        await waitUntil(
          'all pods to be tried, and bound ones to run',
          () => allPods().every((pod) => (isBound(pod) ? isRunning(pod) : wasRefused(pod))) || refusals().length > 0,
          undefined,
          { seen: () => ({ pending: pending().length, refusals: refusals() }) },
        );
        expect(refusals()).toEqual([]);
        expect(nodes.flatMap((node) => node.findFaults())).toEqual([]);
        expect(findMisplaced()).toEqual([]);
        bound += allPods().filter(isBound).length;
      }
      expect(bound).toBeGreaterThan(waves * 5);
      expect(nodes.reduce((sum, { allocated }) => sum + allocated, 0)).toBe(
        allPods()
          .filter(isRunning)
          .reduce((sum, pod) => sum + cpusOfPod(pod), 0),
      );
      for (const verb of ['/filter', '/prioritize', '/bind']) expect(replicas!.counts.get(verb)).toBeGreaterThan(0);
      console.log(
        `seed ${seed}: ${waves * podsInWave} pods in ${waves} waves, running after each in sum ${bound}, refused by cpusetd 0`,
      );
    });

    test('waves of pods of all QoS classes, with init containers and sidecars: none that is bound is refused by cpusetd', async () => {
      const random = createRandom(seed + 1);
      const few = (most: number): number[] => Array.from({ length: random.int(0, 1) * random.int(0, 1) }, () => random.int(1, most)); // prettier-ignore
      await cluster.removeAll();
      const kinds = new Map<string, number>();
      for (let wave = 0; wave < waves; wave++) {
        const leaving = allPods().filter((pod) => random.chance(isBound(pod) ? 0.6 : 0.3));
        await cluster.remove(...leaving.map(({ metadata }) => metadata.name));
        for (let n = 0; n < podsInWave; n++) {
          const isBurstable = random.chance(0.25);
          await cluster.create({
            name: `mixed-${wave}-${n}`,
            scheduler,
            isBurstable,
            cpus: random.chance(0.25) ? 0 : random.pick(sizes),
            apps: few(4),
            inits: few(8),
            sidecars: few(3),
            annotations: random.chance(0.4) ? { 'topology.crane.io/topology-awareness': 'false' } : {},
          });
        }
        await waitUntil('the pods are known', () => cluster.pods.byName.has(`mixed-${wave}-${podsInWave - 1}`));
        await waitUntil(
          'all pods to be tried, and bound ones to run',
          () => allPods().every((pod) => (isBound(pod) ? isRunning(pod) : wasRefused(pod))) || refusals().length > 0,
          undefined,
          { seen: () => ({ pending: pending().length, refusals: refusals() }) },
        );
        expect(refusals()).toEqual([]);
        expect(nodes.flatMap((node) => node.findOverlaps())).toEqual([]);
        for (const { status } of allPods().filter(isRunning))
          kinds.set(status.qosClass!, (kinds.get(status.qosClass!) ?? 0) + 1);
      }
      expect(Math.min(...kinds.values())).toBeGreaterThan(5);
      expect(kinds.size).toBe(3);
      console.log(`seed ${seed}: ${waves * podsInWave} mixed pods, running after each wave by QoS class ${JSON.stringify([...kinds])}, refused by cpusetd 0`); // prettier-ignore
    });

    test('no request of cpusetd, the extender and the scheduler lacks a right of deploy/', () => {
      expect(cluster.listForbidden()).toEqual([]);
    });
  },
);
