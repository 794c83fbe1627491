import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseCpuList } from '../../src/core/cpuset';
import { waitUntil } from '../e2e/rig';
import {
  type ClusterNode,
  expectOwner,
  kubeApi,
  kubectl,
  type KubePod,
  onEachNode,
  oneCpu,
  readClusterFacts,
  startNode,
  type TopologyGroup,
  topologyGroups,
} from './rig';

const run = promisify(execFile);
const main = { name: 'main' };

const matrix = {
  dependsOn: 'mode',
  because: 'Pods come and go by the kubelet and the API server; cpusetd sees them as a plugin or as a proxy.',
} as const;

onEachNode('the life of a node', matrix, ({ suite, mode }) => {
  let node: ClusterNode;
  beforeAll(async () => {
    node = await startNode({ suite, mode });
  });
  afterAll(() => node?.stop());
  afterEach(() => node.deletePods());

  test("the kubelet's own client reads the CPUs of containers, and those that can be given, from the socket of cpusetd", async () => {
    const shared = await node.runPod({ name: 'shared', containers: [main] });
    const pinned = await node.runPod({ name: 'pinned', containers: [oneCpu] });
    await expectOwner(node, pinned);
    const program = join(readClusterFacts().programs, 'list-pod-resources');
    const { stdout } = await run(program, [`unix://${node.podResourcesSocket}`]);
    const { list, allocatable } = JSON.parse(stdout) as PodResources;
    const listed = list.podResources.map(({ name, namespace, containers }) => ({ name, namespace, containers }));
    const { cpus } = await pinned.cpuset('main');
    const cpuIds = [...parseCpuList(cpus)].map(String);
    expect(listed).toHaveLength(2);
    expect(listed).toContainEqual({ name: pinned.name, namespace: node.name, containers: [{ name: 'main', cpuIds }] });
    expect(listed).toContainEqual({ name: shared.name, namespace: node.name, containers: [{ name: 'main' }] });
    expect(allocatable.cpuIds).toEqual(cpuIds);
  });

  test('a drain gives the CPU back; when the node takes pods again, the next pod has it', async () => {
    const shared = await node.runPod({ containers: [main] });
    const pinned = await node.runPod({ containers: [oneCpu] });
    await expectOwner(node, pinned);
    await kubectl('drain', node.name, '--force', '--ignore-daemonsets', '--delete-emptydir-data', '--timeout', '60s');
    for (const pod of [pinned, shared]) await pod.gone();
    await expectOwner(node, undefined);
    const next = await node.createPod({ containers: [oneCpu] });
    await next.until('it is not scheduled', ({ status }) =>
      (status.conditions ?? []).some(({ reason }) => reason === 'Unschedulable'),
    );
    await kubectl('uncordon', node.name);
    await next.running();
    await expectOwner(node, next);
  });

  test('the Node deleted and registered again: NodeResourceTopology goes and comes with it, the pinned pod keeps its CPU', async () => {
    const pinned = await node.runPod({ containers: [oneCpu] });
    await expectOwner(node, pinned);
    const before = await pinned.container('main');
    const ownersOf = async (group: TopologyGroup): Promise<string | undefined> =>
      (await node.topology(group))?.metadata.ownerReferences?.map(({ uid }) => uid).join();
    const { uid } = (await node.read()).metadata;
    for (const group of topologyGroups) expect(await ownersOf(group)).toBe(uid);

    await kubectl('delete', 'node', node.name);
    for (const group of topologyGroups)
      await waitUntil(`${group} is gone`, async () => (await ownersOf(group)) === undefined, 60_000, { everyMs: 50 });
    await node.restart('kubelet');
    const now = (await node.read()).metadata.uid;
    expect(now).not.toBe(uid);
    for (const group of topologyGroups)
      await waitUntil(`${group} is there`, async () => (await ownersOf(group)) === now, 60_000, { everyMs: 50 });
    await expectOwner(node, pinned);
    expect((await pinned.container('main')).containerID).toBe(before.containerID);
  });

  test('cpusetd stopped in an orderly way: the Node says so when the process has ended, and that it pins when cpusetd is back', async () => {
    const pinned = await node.runPod({ containers: [oneCpu] });
    await expectOwner(node, pinned);
    await node.daemon.stop();
    expect(await node.condition('CpusetdReady')).toMatchObject({ status: 'False', reason: 'Stopped' });
    await node.start('cpusetd');
    await node.daemon.ready();
    await expectOwner(node, pinned);
  });

  // The kubelet's number of pods is the same in each mode. Many creations at once through the proxy:
  // test/e2e/proxy.test.ts, on each runtime.
  if (mode === 'nri')
    test('110 pods created at once, as many as a kubelet takes: the pinned one among them has its CPU alone', async () => {
      const startedAt = performance.now();
      const names = Array.from({ length: 109 }, (_, i) => `shared-${i}`);
      const pods = await Promise.all([
        node.createPod({ name: 'pinned', containers: [oneCpu] }),
        ...names.map((name) => node.createPod({ name, containers: [main] })),
      ]);
      const countRunning = async (): Promise<number> => {
        const { items } = await kubeApi.get<{ items: KubePod[] }>(`/api/v1/namespaces/${node.name}/pods`);
        return items.filter(({ status }) => status.conditions?.some((c) => c.type === 'Ready' && c.status === 'True'))
          .length;
      };
      let last = 0;
      const seen = () => last;
      const areAll = async () => (last = await countRunning()) === pods.length;
      await waitUntil('all pods run', areAll, 300_000, { everyMs: 500, seen });
      console.info(`110 pods run after ${Math.round((performance.now() - startedAt) / 1000)} s`);
      await expectOwner(node, pods[0]);
    });
});

/** The output of list-pod-resources: the messages of PodResources as protobuf prints them in JSON. */
interface PodResources {
  readonly list: {
    readonly podResources: readonly {
      readonly name: string;
      readonly namespace: string;
      readonly containers: readonly { readonly name: string; readonly cpuIds?: readonly string[] }[];
    }[];
  };
  readonly allocatable: { readonly cpuIds: readonly string[] };
}
