import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitUntil } from '../e2e/rig';
import { onlineCpus } from '../e2e/rig/online-cpus';
import {
  type ClusterNode,
  ClusterPod,
  type ContainerTemplate,
  exclusiveCpu,
  expectOwner,
  kubectl,
  kubeletOfTwoCpus,
  onEachNode,
  oneCpu,
  reservedCpus,
  startNode,
  toContainer,
  waitForSigterm,
} from './rig';

const matrix = {
  dependsOn: 'runtime',
  because:
    'The runtime makes containers of each kind in an order of its own, and tells NRI and the CRI of each in its own way.',
} as const;

onEachNode('pods and containers of each kind', matrix, ({ suite, mode, onceInEachMode }) => {
  let node: ClusterNode;
  beforeAll(async () => {
    node = await startNode({ suite, mode, kubelet: kubeletOfTwoCpus });
  });
  afterAll(() => node?.stop());
  afterEach(() => node.deletePods());

  test('the Node has the version of the kubelet that belongs to this kind of node', async () => {
    const { nodeInfo } = (await node.read()).status;
    expect(nodeInfo.kubeletVersion).toBe(`v${node.kubelet.version}`);
  });

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

  test('an init container hands its CPU on to the container that follows', async () => {
    const printMask = ['sed', '-n', 's/^Cpus_allowed_list:\\s*//p', '/proc/self/status'];
    const pod = await node.runPod({
      initContainers: [{ ...oneCpu, name: 'init', command: printMask }],
      containers: [oneCpu],
    });
    expect(await pod.firstLine('init')).toBe(exclusiveCpu);
    expect(await pod.firstLine('main')).toBe(exclusiveCpu);
    await expectOwner(node, pod);
    expect((await pod.container('init')).state.terminated).toMatchObject({ exitCode: 0 });
  });

  test.each`
    owner        | sidecar            | main
    ${'sidecar'} | ${{ cpu: 1 }}      | ${{ cpu: '200m' }}
    ${'main'}    | ${{ cpu: '200m' }} | ${{ cpu: 1 }}
  `(
    'a sidecar beside its app container: the $owner, which asks for a whole CPU, has it while both run',
    async ({ owner, sidecar, main }: Record<'sidecar' | 'main', ContainerTemplate> & { owner: string }) => {
      const pod = await node.runPod({
        initContainers: [{ ...sidecar, name: 'sidecar', memory: '64Mi', more: { restartPolicy: 'Always' } }],
        containers: [{ ...main, name: 'main', memory: '64Mi' }],
      });
      const other = owner === 'main' ? 'sidecar' : 'main';
      await expectOwner(node, pod, { container: owner });
      expect(await pod.firstLine(owner)).toBe(exclusiveCpu);
      expect(await pod.masks(other)).toEqual([reservedCpus]);

      const before = await pod.container('sidecar');
      await pod.killProcesses('sidecar');
      await pod.restarted(before);
      await expectOwner(node, pod, { container: owner });
      expect(await pod.masks(other)).toEqual([reservedCpus]);
    },
  );

  test('an ephemeral container of a pinned pod runs on the shared CPUs', async () => {
    const pod = await node.runPod({ containers: [oneCpu] });
    const image = ['--image', node.runtime.image, '--image-pull-policy', 'Never'];
    const target = ['--namespace', node.name, pod.name, '--target', 'main', '--container', 'debugger'];
    await kubectl('debug', '--profile', 'general', ...target, ...image, '--', 'sh', '-c', waitForSigterm);
    await pod.until('the ephemeral container runs', ({ status }) =>
      (status.ephemeralContainerStatuses ?? []).some(({ state }) => state.running !== undefined),
    );
    await expectOwner(node, pod);
    expect(await pod.masks('debugger')).toEqual([reservedCpus]);
  });

  onceInEachMode('The kubelet asks for these pods in the same way on each runtime, and tries again by itself.', () => {
    test('pods in the pod network: the pinned one has an address and its CPU, and the other one reaches it', async () => {
      const listen = {
        name: 'main',
        cpu: 1,
        memory: '64Mi',
        command: ['sh', '-c', 'trap "exit 143" TERM; busybox nc -ll -p 80 -e echo hello & wait'],
      };
      const pinned = await node.runPod({ containers: [listen], spec: { hostNetwork: false } });
      const { podIP } = (await pinned.read()).status;
      expect(podIP).toMatch(/^10\.88\./);
      await expectOwner(node, pinned);
      const ask = ['sh', '-c', `until busybox nc ${podIP} 80 </dev/null; do sleep 0.1; done; ${waitForSigterm}`];
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

    test('a pod with resources as a whole: the container with request and limit of its own has a CPU, the other shares', async () => {
      const amounts = { cpu: '1', memory: '128Mi' };
      const side = { name: 'side', command: ['sh', '-c', waitForSigterm] };
      const resources = { requests: amounts, limits: amounts };
      const pod = await node.runPod({ containers: [oneCpu, side], spec: { resources } });
      expect((await pod.read()).status.qosClass).toBe('Guaranteed');
      await expectOwner(node, pod);
      expect(await pod.masks('side')).toEqual([reservedCpus]);
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
});
