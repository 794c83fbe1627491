import { PodSandboxState, RuntimeServiceDefinition } from '../gen/cri/v1/cri';
import { stopPod } from '../e2e/rig/pod';
import {
  type ClusterNode,
  type ClusterPod,
  exclusiveCpu,
  expectOwner,
  kubectl,
  onEachNode,
  oneCpu,
  type Part,
  startNode,
} from './rig';

const { listPodSandbox } = RuntimeServiceDefinition.methods;

const matrix = {
  dependsOn: 'runtime',
  because:
    'The runtime takes the plugin or the proxy again after a restart of either, and makes a container or a sandbox anew.',
} as const;

onEachNode('restarts of the parts of a node and of a pod', matrix, ({ suite, mode, onceInEachMode }) => {
  let node: ClusterNode;
  let guaranteed: ClusterPod;
  let shared: ClusterPod;
  beforeAll(async () => {
    node = await startNode({ suite, mode });
    shared = await node.runPod({ name: 'shared', containers: [{ name: 'main' }] });
    guaranteed = await node.runPod({ name: 'pinned', containers: [oneCpu] });
    await expectOwner(node, guaranteed);
  });
  afterAll(() => node?.stop());

  const restart = async ({ parts }: { readonly parts: readonly Part[] }): Promise<void> => {
    const before = await Promise.all([guaranteed, shared].map((pod) => pod.container('main')));
    await node.restart(...parts);
    await expectOwner(node, guaranteed);
    const after = await Promise.all([guaranteed, shared].map((pod) => pod.container('main')));
    expect(after.map(({ containerID }) => containerID)).toEqual(before.map(({ containerID }) => containerID));
  };
  const title = '$parts killed, then started in this order: the same processes run on the same CPUs';

  test.each<{ parts: Part[] }>([{ parts: ['cpusetd'] }, { parts: ['runtime'] }])(title, restart);

  onceInEachMode('In an order of three, each runtime meets the plugin or the proxy as in a restart of one.', () => {
    test.each<{ parts: Part[] }>([
      { parts: ['kubelet'] },
      { parts: ['kubelet', 'runtime', 'cpusetd'] },
      { parts: ['kubelet', 'cpusetd', 'runtime'] },
      { parts: ['runtime', 'kubelet', 'cpusetd'] },
      { parts: ['runtime', 'cpusetd', 'kubelet'] },
      { parts: ['cpusetd', 'kubelet', 'runtime'] },
      { parts: ['cpusetd', 'runtime', 'kubelet'] },
    ])(title, restart);
  });

  test('the process of a pinned container killed: the container that follows has the CPU from its first instruction on', async () => {
    const before = await guaranteed.container('main');
    await guaranteed.killProcesses('main');
    await guaranteed.restarted(before);
    await expectOwner(node, guaranteed);
    expect(await guaranteed.firstLine('main')).toBe(exclusiveCpu);
  });

  test('the sandbox of a pinned pod stopped past the kubelet: the sandbox that follows has the CPU', async () => {
    const before = await guaranteed.container('main');
    const { channel } = node.runtime.kubelet;
    const readySandboxes = async (): Promise<string[]> => {
      const state = { state: PodSandboxState.SANDBOX_READY };
      const filter = { id: '', state, labelSelector: { 'io.kubernetes.pod.uid': guaranteed.uid } };
      return (await channel.call(listPodSandbox, { filter })).items.map(({ id }) => id);
    };
    const [sandbox] = await readySandboxes();
    await stopPod(channel, sandbox!, node.runtime);
    await guaranteed.restarted(before);
    expect(await readySandboxes()).not.toContain(sandbox);
    await expectOwner(node, guaranteed);
    expect(await guaranteed.firstLine('main')).toBe(exclusiveCpu);
  });

  test('a reboot: state and records are there, no process is; each pod runs again, the pinned one on its CPU', async () => {
    const before = await Promise.all([guaranteed, shared].map((pod) => pod.container('main')));
    await node.reboot();
    await guaranteed.restarted(before[0]!);
    await shared.restarted(before[1]!);
    await expectOwner(node, guaranteed);
  });

  onceInEachMode('The kubelet learns from the API server that the pod is gone.', () => {
    test('a reboot after the pinned pod was deleted while the node was off: its CPU is given back', async () => {
      await node.powerOff();
      await kubectl('delete', 'pod', guaranteed.name, '--namespace', node.name, '--force', '--grace-period', '0');
      await node.powerOn();
      await expectOwner(node, undefined);
      const next = await node.runPod({ name: 'next', containers: [oneCpu] });
      await expectOwner(node, next);
    });
  });
});
