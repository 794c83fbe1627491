import { readFileSync } from 'node:fs';
import { environmentOf, Example } from './example-process';
import { startOtherPlugin } from './other-plugin';
import {
  type Daemon,
  onEachRuntime,
  onlineCpus,
  poll,
  printMaskThenSleep,
  readStatus,
  type Runtime,
  type RunningPod,
  startDaemon,
  startRuntime,
  waitUntil,
} from './rig';

jest.setTimeout(300_000);

const conflictOf = (index: string): RegExp =>
  new RegExp(`plugins .*(50-cpusetd.* and .*${index}-other|${index}-other.* and .*50-cpusetd).* both tried to set`);
const db = { name: 'db', cpus: 1, command: printMaskThenSleep };

onEachRuntime('cpusetd beside other NRI plugins', (suite) => {
  let runtime: Runtime;
  let daemon: Daemon;
  const ends: (() => Promise<unknown>)[] = [];
  beforeAll(async () => {
    runtime = await startRuntime({ suite, nri: true });
    daemon = startDaemon({ runtime, args: ['--reserved-cpus', '0'] });
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

  test.each([
    ['before', '05'],
    ['after', '95'],
  ])(
    'a plugin %s cpusetd that sets CPUs too: the runtime refuses the container and names both, and without the other it gets CPUs; none are lost',
    async (_when, index) => {
      const setsCpus = () => ({ linux: { resources: { cpu: { cpus: '0' } } } });
      const stopOther = await startOtherPlugin(runtime, index, setsCpus);
      ends.push(stopOther);
      const pod = await runPod();
      const refusal = await pod.startContainer('db').then(
        () => 'created',
        (error: unknown) => String(error),
      );
      expect(refusal).not.toBe('created');
      // Node's HTTP/2 drops a text that ends with a space, as that of containerd 2.4: a kubelet gets it, and the log has it.
      const logged = readFileSync(runtime.runtimeLog, 'utf8')
        .split('\n')
        .filter((line) => line.includes('both tried'));
      expect([refusal, ...logged].join('\n')).toMatch(conflictOf(index));
      // CRI-O does not tell plugins of the failed creation: the CPUs stay with the pod.
      if (suite !== 'crio') await waitUntil('its CPUs to be free', holdsNothing);

      await stopOther();
      const container = await poll('its creation', () => pod.startContainer('db').catch(() => undefined));
      expect(await container.firstLine()).toMatch(/^[1-9]\d*$/);
    },
  );
});
