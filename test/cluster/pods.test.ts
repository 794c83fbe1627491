import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitUntil } from '../e2e/rig';
import { onlineCpus } from '../e2e/rig/online-cpus';
import {
  type ClusterNode,
  ClusterPod,
  exclusiveCpu,
  expectOwner,
  kubeletOfTwoCpus,
  onEachNode,
  oneCpu,
  reservedCpus,
  startNode,
  toContainer,
} from './rig';

onEachNode('pods of each kind', ({ suite, mode }) => {
  let node: ClusterNode;
  beforeAll(async () => {
    node = await startNode({ suite, mode, kubelet: kubeletOfTwoCpus });
  });
  afterAll(() => node?.stop());
  afterEach(() => node.deletePods());

  test('Guaranteed, Burstable and BestEffort: the first has its CPU alone, from its first instruction on', async () => {
    const requests = { memory: '32Mi', cpu: '100m' };
    const shared = await Promise.all([
      node.runPod({ name: 'best-effort', containers: [{ name: 'main' }] }),
      node.runPod({ name: 'burstable', containers: [{ name: 'main', requests }] }),
    ]);
    for (const pod of shared) expect(await pod.firstLine('main')).toBe(onlineCpus);
    const guaranteed = await node.runPod({ name: 'guaranteed', containers: [oneCpu] });
    expect(await guaranteed.firstLine('main')).toBe(exclusiveCpu);
    await expectOwner(node, guaranteed);
    for (const pod of shared) expect(await pod.masks('main')).toEqual([reservedCpus]);
    const pods = await Promise.all([...shared, guaranteed].map((pod) => pod.read()));
    expect(pods.map(({ status }) => status.qosClass)).toEqual(['BestEffort', 'Burstable', 'Guaranteed']);
    await guaranteed.delete();
    await expectOwner(node, undefined);
    for (const pod of shared) expect(await pod.masks('main')).toEqual([onlineCpus]);
  });

  test('pods in the pod network: the pinned one has an address and its CPU, and the other one reaches it', async () => {
    const listen = {
      name: 'main',
      cpu: 1,
      memory: '64Mi',
      command: ['busybox', 'nc', '-ll', '-p', '80', '-e', 'echo', 'hello'],
    };
    const pinned = await node.runPod({ containers: [listen], spec: { hostNetwork: false } });
    const { podIP } = (await pinned.read()).status;
    expect(podIP).toMatch(/^10\.88\./);
    await expectOwner(node, pinned);
    const ask = ['sh', '-c', `until busybox nc ${podIP} 80 </dev/null; do sleep 0.1; done; exec sleep 2147483647`];
    const shared = await node.runPod({ containers: [{ name: 'main', command: ask }], spec: { hostNetwork: false } });
    expect(await shared.firstLine('main')).toBe('hello');
    await expectOwner(node, pinned);
  });

  test('a static pod has its CPU until its manifest is removed', async () => {
    const manifest = join(node.kubelet.manifests, 'pinned.json');
    const spec = { hostNetwork: true, terminationGracePeriodSeconds: 0, containers: [toContainer(oneCpu)] };
    const metadata = { name: 'static', namespace: node.name };
    writeFileSync(manifest, JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata, spec }));
    const pod = await ClusterPod.find(node, `static-${node.name}`);
    await pod.running();
    await expectOwner(node, pod);
    expect(await pod.firstLine('main')).toBe(exclusiveCpu);
    rmSync(manifest);
    await pod.gone();
    await expectOwner(node, undefined);
  });

  test('a pod whose CPU another one has: it is refused with the reason, and runs when the CPU is free', async () => {
    const first = await node.runPod({ name: 'first', containers: [oneCpu] });
    const second = await node.createPod({ name: 'second', containers: [oneCpu] });
    const refused = await second.until('the pod is refused', ({ status }) =>
      (status.containerStatuses ?? []).some(({ state }) => state.waiting?.reason === 'CreateContainerError'),
    );
    const reason = 'asked for 1 exclusive CPU, 0 can be given now: 0 of 1 allocatable CPU';
    expect(refused.status).toMatchObject({ phase: 'Pending', qosClass: 'Guaranteed' });
    expect(refused.status.containerStatuses?.[0]?.state.waiting?.message).toContain(reason);
    const events = await second.untilEvents('an Event of cpusetd', (all) =>
      all.some(({ reason: name }) => name === 'CpusRefused'),
    );
    for (const name of ['Failed', 'CpusRefused'])
      expect(events.filter((event) => event.reason === name).map(({ message }) => message)).toContainEqual(
        expect.stringContaining(reason),
      );
    const described = await second.describe();
    expect(described).toMatch(/State: +Waiting\n +Reason: +CreateContainerError/);
    expect(described).toMatch(new RegExp(`Warning +CpusRefused .*${reason}`));
    await expectOwner(node, first);

    await first.delete();
    await second.running();
    await expectOwner(node, second);
    await waitUntil('describe shows the pod running', async () => /State: +Running/.test(await second.describe()));
  });
});
