import { type Daemon, requireRuntime, type Runtime, type RunningPod, startDaemon, startRuntime } from './rig';

jest.setTimeout(120_000);

/** The first containerd whose NRI can refuse containers that a plugin has not seen. */
const SINCE = [2, 2] as const;

requireRuntime('sid')('a runtime that requires cpusetd', () => {
  let runtime: Runtime;
  let daemon: Daemon | undefined;
  let pods: RunningPod[] = [];
  let isAble = false;
  beforeAll(async () => {
    runtime = await startRuntime({ suite: 'sid', nri: true, requiredPlugin: 'cpusetd' });
    const version = runtime.packages['containerd'] ?? '';
    const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
    isAble = major > SINCE[0] || (major === SINCE[0] && minor >= SINCE[1]);
    if (!isAble)
      process.stderr.write(
        `\n*** NOT PROVEN: required plugins need containerd ${SINCE.join('.')}, this is ${version}\n\n`,
      );
  });
  afterAll(() => runtime?.stop());
  afterEach(async () => {
    for (const pod of pods) await pod.remove();
    pods = [];
    await daemon?.dispose();
  });

  const start = async (annotations: Readonly<Record<string, string>> = {}) => {
    const pod = await runtime.kubelet.runPod({ containers: [{ name: 'web', cpuRequestMilli: 100 }], annotations });
    pods.push(pod);
    return pod.startContainer('web');
  };

  test('no container is created without it; a pod that tolerates that is; with it all are, and none when it has died', async () => {
    if (!isAble) {
      // An older one takes the setting and does not know it: it fails open, as our documents say.
      await expect(start()).resolves.toBeDefined();
      return;
    }
    await expect(start()).rejects.toThrow(/required plugin "cpusetd" not present/);
    await expect(start({ 'cpusetd.io/tolerate-missing': 'true' })).resolves.toBeDefined();
    daemon = startDaemon({ runtime, args: ['--reserved-cpus', '0'] });
    await daemon.waitForLog('synchronized with the runtime');
    await expect(start()).resolves.toBeDefined();
    await daemon.kill();
    await expect(start()).rejects.toThrow(/required plugin "cpusetd" not present/);
  });
});
