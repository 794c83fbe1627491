import {
  type ContainerSpec,
  type Daemon,
  exclusiveList,
  lastCpu,
  onlineCpus,
  onRuntimes,
  printMaskThenSleep,
  readStatus,
  type Runtime,
  type RunningContainer,
  type ShownContainer,
  startDaemon,
  startRuntime,
  waitUntil,
} from './rig';

jest.setTimeout(300_000);

/** A container that would get all CPUs but the reserved one, if it were not left alone. */
const whole = (name: string): ContainerSpec => ({ name, cpus: lastCpu, command: printMaskThenSleep });

onRuntimes(['sid'], 'a container left alone, which starts in the shared pool', (suite) => {
  let runtime: Runtime;
  let daemon: Daemon;
  beforeAll(async () => {
    runtime = await startRuntime({ suite, nri: true });
    const rules = ['--leave-alone', 'shop/alone', '--pod-leave-alone', 'on', '--reconcile-period', '1s'];
    daemon = startDaemon({ runtime, args: ['--reserved-cpus', '0', ...rules] });
    await daemon.ready();
  });
  afterAll(async () => {
    await daemon?.dispose();
    await runtime?.stop();
  });
  afterEach(() => runtime.kubelet.removePods());

  const shownOf = async ({ id }: RunningContainer): Promise<ShownContainer> =>
    (await readStatus(daemon)).containers.find((shown) => shown.id === id)!;
  const alarms = async (): Promise<readonly string[]> => (await readStatus(daemon)).node.alarms.map(({ kind }) => kind);
  const runOwner = () => runtime.kubelet.runPod({ name: 'owner', containers: [whole('db')] });

  test('by the rule of the operator, beside an owner: it starts without the CPUs of the owner, and is not moved when that ends', async () => {
    const owner = await runOwner();
    await owner.startContainer('db');
    const pod = await runtime.kubelet.runPod({ namespace: 'shop', name: 'alone', containers: [whole('app')] });
    const app = await pod.startContainer('app');
    expect(await app.firstLine()).toBe('0');
    const because = "left alone: the operator's rule shop/alone says so"; // and nothing of CPUs of others, once its cgroup was read
    await waitUntil('its verdict', async () => (await shownOf(app)).verdict.reason === because);
    expect(await shownOf(app)).toMatchObject({ placement: 'left-alone', verdict: { kind: 'left-alone' } });
    expect(await alarms()).not.toContain('left-alone-disturbs');

    const shared = { name: 'web', cpuRequestMilli: 100, command: printMaskThenSleep };
    const web = await (await runtime.kubelet.runPod({ containers: [shared] })).startContainer('web');
    await owner.remove();
    await waitUntil('the shared container to have the CPUs', () => web.cpuset().cpus === onlineCpus);
    expect(app.cpuset().cpus).toBe('0');
  });

  test('by an annotation as nri-plugins write it, before an owner comes: it is not moved, and an alarm names both until the owner has ended', async () => {
    const annotations = { 'cpu.preserve.resource-policy.nri.io/container.app': 'true' };
    const pod = await runtime.kubelet.runPod({ name: 'pod', annotations, containers: [whole('app')] });
    const app = await pod.startContainer('app');
    expect(await app.firstLine()).toBe(onlineCpus);

    const owner = await runOwner();
    expect(await (await owner.startContainer('db')).firstLine()).toBe(exclusiveList);
    await waitUntil('the alarm', async () => (await alarms()).includes('left-alone-disturbs'));
    const { alarms: raised } = (await readStatus(daemon)).node;
    expect(raised.find(({ kind }) => kind === 'left-alone-disturbs')).toMatchObject({
      because: `default/pod app: it is left alone, and may run on exclusive CPUs ${exclusiveList} of default/owner db`,
    });
    expect(app.masks()).toEqual([onlineCpus]);
    expect((await shownOf(app)).verdict.reason).toContain(`it may run on CPUs ${exclusiveList}, which others own`);
    await owner.remove();
    await waitUntil('the alarm to be gone', async () => !(await alarms()).includes('left-alone-disturbs'));
  });
});
