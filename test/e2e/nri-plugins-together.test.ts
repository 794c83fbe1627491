import { readFileSync } from 'node:fs';
import { environmentOf, Example } from './example-process';
import { startOtherPlugin } from './other-plugin';
import {
  type Daemon,
  onEachRuntime,
  lastCpu,
  onlineCpus,
  poll,
  printMaskThenSleep,
  readStatus,
  type Runtime,
  type RunningPod,
  type ShownContainer,
  startDaemon,
  startRuntime,
  waitUntil,
} from './rig';

jest.setTimeout(300_000);

const conflictOf = (index: string): RegExp =>
  new RegExp(`plugins .*(50-cpusetd.* and .*${index}-other|${index}-other.* and .*50-cpusetd).* both tried to set`);
const db = { name: 'db', cpus: 1, command: printMaskThenSleep };
const web = { name: 'web', cpuRequestMilli: 100, command: printMaskThenSleep };

onEachRuntime('cpusetd beside other NRI plugins', (suite) => {
  let runtime: Runtime;
  let daemon: Daemon;
  const ends: (() => Promise<unknown>)[] = [];
  beforeAll(async () => {
    runtime = await startRuntime({ suite, nri: true });
    daemon = startDaemon({
      runtime,
      args: ['--reserved-cpus', '0', '--leave-alone', 'alone', '--left-alone-start', 'untouched'],
    });
    await daemon.ready();
  });
  afterAll(async () => {
    await daemon?.dispose();
    await runtime?.stop();
  });
  afterEach(async () => {
    await runtime.kubelet.removePods();
    for (const end of ends.splice(0)) await end();
    await waitUntil('nothing to be left', holdsNothing);
  });

  const runPod = (annotations: Readonly<Record<string, string>> = {}): Promise<RunningPod> =>
    runtime.kubelet.runPod({ containers: [db], annotations });
  const holdsNothing = async (): Promise<boolean> => {
    const { containers, idle, node } = await readStatus(daemon);
    const workloads = containers.filter(({ pause }) => pause !== true);
    return workloads.length === 0 && idle.length === 0 && node.sharedPool === onlineCpus;
  };

  test('a plugin that sets other things: its changes and the CPUs of cpusetd are both in force', async () => {
    const example = new Example('env-from-annotation', runtime.nriSocket);
    ends.push(() => example.stop());
    await example.ready();
    const container = await (await runPod({ 'env.example.com/GREETING': 'hello' })).startContainer('db');
    expect(await environmentOf(container)).toContain('GREETING=hello');
    expect(container.cpuset().cpus).toMatch(/^[1-9]\d*$/);
  });

  /** Starts a plugin that gives these CPUs to each container. @returns its end */
  const startOther = async (index: string, cpus: string): Promise<() => Promise<unknown>> => {
    const stopOther = await startOtherPlugin(runtime, index, () => ({ linux: { resources: { cpu: { cpus } } } }));
    ends.push(stopOther);
    return stopOther;
  };
  const refusalOf = async (pod: RunningPod, name: string): Promise<string> => {
    const refusal = await pod.startContainer(name).then(
      () => 'created',
      (error: unknown) => String(error),
    );
    // Node's HTTP/2 drops a text that ends with a space, as that of containerd 2.4: a kubelet gets it, and the log has
    // it.
    const logged = readFileSync(runtime.runtimeLog, 'utf8')
      .split('\n')
      .filter((line) => line.includes('both tried'));
    expect(refusal).not.toBe('created');
    return [refusal, ...logged].join('\n');
  };
  const shownOf = async (id: string): Promise<ShownContainer> =>
    (await readStatus(daemon)).containers.find((shown) => shown.id === id)!;

  test.each([
    ['before', '05'],
    ['after', '95'],
  ])(
    'a plugin %s cpusetd that gives other CPUs to a container with exclusive ones: the runtime refuses it and names both, and without the other it gets CPUs; none are lost',
    async (_when, index) => {
      const stopOther = await startOther(index, onlineCpus);
      const pod = await runPod();
      expect(await refusalOf(pod, 'db')).toMatch(conflictOf(index));
      // CRI-O does not tell plugins of the failed creation: the CPUs stay with the pod.
      if (suite !== 'crio') await waitUntil('its CPUs to be free', holdsNothing);

      await stopOther();
      const container = await poll('its creation', () => pod.startContainer('db').catch(() => undefined));
      expect(await container.firstLine()).toMatch(/^[1-9]\d*$/);
    },
  );

  test('a plugin before cpusetd that gives reserved CPUs: a container that shares keeps them, and one that asks for exclusive ones is refused with the reason', async () => {
    await startOther('05', '0');
    const pod = await runtime.kubelet.runPod({ containers: [web] });
    const kept = await pod.startContainer('web');
    expect(await kept.firstLine()).toBe('0');
    const shown = await shownOf(kept.id);
    expect(shown).toMatchObject({ placement: 'shared', promise: { cpus: '0' }, verdict: { kind: 'kept' } });
    expect(shown.because).toContain('its request brought CPUs 0');
    expect(await refusalOf(await runPod(), 'db')).toContain('its request brought CPUs 0, and is kept to them');
  });

  test('a plugin before cpusetd that gives just the CPU that cpusetd chooses: the container has it alone', async () => {
    await startOther('05', `${lastCpu}`);
    const container = await (await runPod()).startContainer('db');
    expect(await container.firstLine()).toBe(`${lastCpu}`);
    expect(await shownOf(container.id)).toMatchObject({ placement: 'exclusive', verdict: { kind: 'kept' } });
  });

  test.each([
    ['before', '05'],
    ['after', '95'],
  ])('a plugin %s cpusetd: a container that is left alone starts with the CPUs of the other', async (_when, index) => {
    await startOther(index, '0');
    const container = await (
      await runtime.kubelet.runPod({ containers: [db], namespace: 'alone' })
    ).startContainer('db');
    expect(await container.firstLine()).toBe('0');
    const shown = await shownOf(container.id);
    expect(shown).toMatchObject({ placement: 'left-alone', verdict: { kind: 'left-alone' } });
    expect(shown.because).toContain("the operator's rule alone says so");
  });

  test('a plugin before cpusetd that gives an exclusive CPU of another to a container that shares: the runtime refuses it and names both', async () => {
    await (await runPod()).startContainer('db');
    await startOther('05', onlineCpus);
    const pod = await runtime.kubelet.runPod({ containers: [web] });
    expect(await refusalOf(pod, 'web')).toMatch(conflictOf('05'));
  });

  test('a plugin after cpusetd that gives CPUs to a container that shares: the runtime refuses it and names both', async () => {
    await startOther('95', '0');
    const pod = await runtime.kubelet.runPod({ containers: [web] });
    expect(await refusalOf(pod, 'web')).toMatch(conflictOf('95'));
  });
});
