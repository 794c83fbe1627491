import {
  type ClusterNode,
  type ContainerTemplate,
  exclusiveCpu,
  expectOwner,
  kubectl,
  kubeletOfTwoCpus,
  onEachNode,
  oneCpu,
  reservedCpus,
  startNode,
} from './rig';

onEachNode('containers of each kind', ({ suite, mode }) => {
  let node: ClusterNode;
  beforeAll(async () => {
    node = await startNode({ suite, mode, kubelet: kubeletOfTwoCpus });
  });
  afterAll(() => node?.stop());
  afterEach(() => node.deletePods());

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
    await kubectl('debug', '--profile', 'general', ...target, ...image, '--', 'sleep', '2147483647');
    await pod.until('the ephemeral container runs', ({ status }) =>
      (status.ephemeralContainerStatuses ?? []).some(({ state }) => state.running !== undefined),
    );
    await expectOwner(node, pod);
    expect(await pod.masks('debugger')).toEqual([reservedCpus]);
  });
});
