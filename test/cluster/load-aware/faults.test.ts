import { parseTopologyResult, TOPOLOGY_RESULT } from '../../../src/core/annotations/topology-result';
import { requireApiServer } from '../../e2e/rig/api-server';
import { waitUntil } from '../../support/wait-until';
import { Cluster, schedulingManifests } from '../scheduling/rig/cluster';
import { createNode } from '../scheduling/rig/create-node';
import { podOf, type Pod, topologyPaths } from '../scheduling/rig/objects';
import { ask } from './rig/extender';
import { Replicas } from './rig/replicas';

jest.setTimeout(600_000);

const names = ['node-a', 'node-b', 'node-c'];
const zones = ['node0', 'node1'];
const CPUS_OF_ZONE = 8;
const scheduler = 'default-scheduler';

const zoneOf = (name: string) => ({
  name,
  type: 'Node',
  resources: { capacity: { cpu: String(CPUS_OF_ZONE) }, allocatable: { cpu: String(CPUS_OF_ZONE) } },
});

requireApiServer()('kube-scheduler with two replicas of the extender, in trouble', () => {
  let cluster: Cluster;
  let replicas: Replicas | undefined;

  beforeAll(async () => {
    cluster = await Cluster.start({ kind: 'crane', manifests: schedulingManifests });
    for (const name of names) {
      await createNode(cluster.client, { name, cpus: zones.length * CPUS_OF_ZONE, memoryMib: 65_536 });
      const body = {
        apiVersion: 'topology.crane.io/v1alpha1',
        kind: 'NodeResourceTopology',
        metadata: { name },
        craneManagerPolicy: { cpuManagerPolicy: 'Static', topologyManagerPolicy: 'SingleNUMANodePodLevel' },
        zones: zones.map(zoneOf),
      };
      await cluster.client.send({ method: 'POST', path: topologyPaths.crane, body });
    }
    replicas = await Replicas.start(cluster);
  });
  afterAll(async () => {
    await replicas?.stop();
    await cluster?.stop();
  });

  const allPods = (): Pod[] => [...cluster.pods.byName.values()];
  const isBound = ({ spec }: Pod): boolean => spec.nodeName !== undefined;
  const wasRefused = ({ status }: Pod): boolean =>
    status.conditions?.some(({ type, status: holds }) => type === 'PodScheduled' && holds === 'False') === true;

  /** CPUs by `node/zone`, as the annotations of bound pods say. */
  const sumByZone = (): Map<string, number> => {
    const sums = new Map<string, number>();
    for (const { spec, metadata } of allPods().filter(isBound)) {
      const parsed = parseTopologyResult(metadata.annotations?.[TOPOLOGY_RESULT] ?? '');
      if (!parsed.ok) throw new Error(`${metadata.name} is bound without a result`);
      for (const [numaNode, cpus] of parsed.result) {
        const key = `${spec.nodeName}/node${numaNode}`;
        sums.set(key, (sums.get(key) ?? 0) + cpus);
      }
    }
    return sums;
  };
  const expectNoZoneOverfull = (): void => {
    for (const [zone, cpus] of sumByZone())
      expect({ zone, cpus: Math.max(cpus, CPUS_OF_ZONE) }).toEqual({ zone, cpus: CPUS_OF_ZONE });
  };
  const removePods = async (): Promise<void> => {
    for (const { metadata } of allPods())
      await cluster.client.send({
        method: 'DELETE',
        path: `/api/v1/namespaces/default/pods/${metadata.name}`,
        query: { gracePeriodSeconds: '0' },
      });
    await waitUntil('no pods', () => cluster.pods.byName.size === 0);
  };

  test('given a replica that is killed in the middle of a burst: all pods that fit are bound, none without its zones, and no zone is overfull', async () => {
    const room = names.length * zones.length * CPUS_OF_ZONE;
    await cluster.stopScheduler('kube-scheduler');
    for (let n = 0; n < room + 4; n++) await cluster.create({ name: `burst-${n}`, cpus: 1, scheduler });
    await cluster.startScheduler();
    await waitUntil('some to be bound', () => allPods().filter(isBound).length >= 2, undefined, { everyMs: 5 });
    const [first] = replicas!.extenders;
    const killed = first.kill();
    const boundAtKill = allPods().filter(isBound).length;
    await killed;
    await first.restart();
    // A claim of the killed replica is withdrawn after 90 s, and kube-scheduler may try the pod again up to 5 minutes
    // later.
    const seen = () => ({ bound: allPods().filter(isBound).length, sums: [...sumByZone()] });
    await waitUntil(`${room} to be bound`, () => allPods().filter(isBound).length === room, 450_000, { seen });
    await waitUntil('the others to be refused', () => allPods().every((pod) => isBound(pod) || wasRefused(pod)));
    expect(boundAtKill).toBeLessThan(room);
    expectNoZoneOverfull();
    expect([...sumByZone().values()].reduce((sum, cpus) => sum + cpus, 0)).toBe(room);
    await removePods();
  });

  // Before the API server restarts: it refuses all requests until it has read the rights.
  test('no request of the extender and the scheduler lacks a right of deploy/', () => {
    expect(cluster.listForbidden()).toEqual([]);
  });

  test('given an API server that is gone: the extender filters as before and binds nothing; given it is back: pods are bound', async () => {
    const [extender] = replicas!.extenders;
    await cluster.create({ name: 'first', cpus: 6, scheduler });
    await waitUntil('it is bound', () => allPods().some(isBound));
    const known = cluster.pods.byName.get('first')!.spec.nodeName!;
    const pod = podOf({ name: 'late', cpus: 8 }) as { metadata: Record<string, unknown> };
    pod.metadata['uid'] = 'of-the-test';
    const filter = async (): Promise<unknown> => {
      const { status, text } = await ask(extender.port, '/filter', { Pod: pod, NodeNames: names });
      return { status, ...(JSON.parse(text) as object) };
    };
    const isSeen = async (): Promise<boolean> => /cached_pods 1$/m.test((await ask(extender.port, '/metrics')).text);
    await waitUntil('the extender knows the pod', isSeen);
    const before = await filter();
    expect(before).toMatchObject({ status: 200, Error: '', NodeNames: names });

    await cluster.plane.kill('kube-apiserver');
    expect(await filter()).toEqual(before);
    const binding = { PodName: 'late', PodNamespace: 'default', PodUID: 'of-the-test', Node: known };
    const { status, text } = await ask(extender.port, '/bind', binding);
    const { Error: because } = JSON.parse(text) as { Error: string };
    expect({ status, because }).toMatchObject({ status: 200, because: expect.stringMatching(/API server/) });
    expect(because).not.toMatch(/127\.0\.0\.1|:\d/);
    expect((await ask(extender.port, '/healthz')).status).toBe(200);

    await cluster.plane.start('kube-apiserver');
    // The pod of the last binding never was.
    await waitUntil('a pod to be created', () =>
      cluster.create({ name: 'second', cpus: 8, scheduler }).then(
        () => true,
        () => false,
      ),
    );
    await waitUntil('it is bound', () => cluster.pods.byName.get('second')?.spec.nodeName !== undefined, 150_000, {
      seen: () => allPods(),
    });
    expectNoZoneOverfull();
    await removePods();
  });
});
