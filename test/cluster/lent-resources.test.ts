import { toNodeState, writeElasticResources } from '../../src/kube/qos/node-resources';
import { KubeClient } from '../../src/kube/api/kube-client';
import { waitUntil } from '../e2e/rig';
import { type ClusterNode, type ClusterPod, kubeApi, onOneNode, readClusterFacts, startNode } from './rig';

// A real kubelet's treatment of resources in the status of its Node that it does not know: the rules in
// src/kube/qos/node-resources.ts.

const CPU = 'gocrane.io/cpu';
const lent = { milliCpu: 3000, memoryBytes: 5_000_000_000 };

onOneNode('what is lent, beside a real kubelet', ({ suite, mode }) => {
  let node: ClusterNode;
  let end: AbortController;
  let client: KubeClient;
  beforeAll(async () => {
    end = new AbortController();
    client = new KubeClient({ kind: 'file', path: readClusterFacts().kubeconfigs.admin }, end.signal);
    const everySecond = { nodeStatusUpdateFrequency: '1s', nodeStatusReportFrequency: '1s' };
    node = await startNode({ suite, mode, cpusetd: 'none', kubelet: everySecond });
  });
  afterAll(async () => {
    end?.abort();
    await node?.stop();
  });

  const read = async () => toNodeState(await node.read()).lent;
  const amountsOfCpu = async () => {
    const { capacity, allocatable } = (await node.read()).status as unknown as Record<string, Record<string, string>>;
    return [capacity?.[CPU], allocatable?.[CPU]];
  };
  const patchStatus = (status: object): Promise<unknown> =>
    kubeApi.patch(`/api/v1/nodes/${node.name}/status`, { status });
  /** Waits until the kubelet has reported its status twice: the first report may have begun before. */
  const reported = async (): Promise<void> => {
    for (let times = 0; times < 2; times++) await node.ready(Date.now());
  };

  test('the kubelet keeps it', async () => {
    await writeElasticResources(client, node.name, lent);
    await reported();
    expect(await read()).toEqual(lent);
  });

  test('what is removed stays away', async () => {
    await writeElasticResources(client, node.name, {});
    await reported();
    expect(await read()).toEqual({});
  });

  test('the kubelet makes allocatable equal to capacity', async () => {
    await patchStatus({ capacity: { [CPU]: '4' } });
    await waitUntil('both', async () => (await amountsOfCpu()).join() === '4,4');
    await patchStatus({ capacity: { [CPU]: null }, allocatable: { [CPU]: '4' } });
    await waitUntil('none', async () => (await amountsOfCpu()).every((amount) => amount === undefined));
  });

  test('a start of the kubelet keeps it', async () => {
    await writeElasticResources(client, node.name, lent);
    await node.restart('kubelet');
    await reported();
    expect(await read()).toEqual(lent);
  });

  test('a Node that was deleted and registers again has it no more', async () => {
    await kubeApi.delete(`/api/v1/nodes/${node.name}`);
    await node.restart('kubelet');
    expect(await read()).toEqual({});
  });

  describe('a start of the kubelet, given a running pod that requests two CPUs of it', () => {
    const resources = { limits: { cpu: '100m', memory: '64Mi', [CPU]: '2' } };
    const runBorrower = async (name: string): Promise<ClusterPod> => {
      await writeElasticResources(client, node.name, lent);
      return node.runPod({ name, containers: [{ name: 'main', more: { resources } }] });
    };

    test('without the resource on the Node, the pod goes on', async () => {
      const pod = await runBorrower('first');
      const before = await pod.container('main');
      await writeElasticResources(client, node.name, {});
      await node.restart('kubelet');
      await reported();
      expect((await pod.container('main')).containerID).toBe(before.containerID);
      await pod.delete();
    });

    test('with one CPU of it on the Node, the kubelet ends the pod', async () => {
      const pod = await runBorrower('second');
      await writeElasticResources(client, node.name, { ...lent, milliCpu: 1000 });
      await reported();
      expect((await pod.read()).status.phase).toBe('Running');
      await node.restart('kubelet');
      const { status } = await pod.until('it has failed', ({ status: { phase } }) => phase === 'Failed');
      expect(status).toMatchObject({ reason: 'OutOfgocrane.io/cpu' });
      await pod.delete();
    });
  });
});
