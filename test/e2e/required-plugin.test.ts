import { type Daemon, requireRuntime, type Runtime, type RunningPod, startDaemon, startRuntime } from './rig';

jest.setTimeout(300_000);

/** Only a containerd from 2.2 can refuse. Where Debian's is older, CPUSETD_CONTAINERD names a folder that has one. */
const lacking = (version: string | undefined) =>
  `\n*** NOT PROVEN: required plugins need containerd 2.2, this is ${version ?? 'unknown'} (CPUSETD_CONTAINERD can name another)\n\n`;

requireRuntime('sid')('a runtime that requires cpusetd', () => {
  let runtime: Runtime;
  let daemon: Daemon | undefined;
  let pods: RunningPod[] = [];
  beforeAll(async () => {
    runtime = await startRuntime({ suite: 'sid', nri: true, requiredPlugin: 'cpusetd' });
  });
  afterAll(() => runtime?.stop());
  afterEach(async () => {
    for (const pod of pods) await pod.remove();
    pods = [];
    await daemon?.dispose();
  });

  const start = async (annotations: Readonly<Record<string, string>> = {}) => {
    const pod = await runtime.kubelet.runPod({ containers: [{ name: 'web', cpus: 1 }], annotations });
    pods.push(pod);
    return pod.startContainer('web');
  };
  const end = async () => {
    await pods.pop()?.remove();
  };

  test('no container is created without it; a pod that tolerates that is; with it all are, and none when it has died', async () => {
    if (runtime.knowsRequiredPlugins !== true) {
      process.stderr.write(lacking(runtime.packages['containerd']));
      // An older one takes the setting and does not know it: it fails open, as our documents say.
      await expect(start()).resolves.toBeDefined();
      return;
    }
    const refused = /required plugin "cpusetd" not present/;
    const exclusive = /^[1-9]\d*$/; // one CPU, and not the reserved one
    await expect(start()).rejects.toThrow(refused);
    await expect(start({ 'cpusetd.io/tolerate-missing': 'true' })).resolves.toBeDefined();
    await end();

    daemon = startDaemon({ runtime, args: ['--reserved-cpus', '0'] });
    await daemon.waitForLog('synchronized with the runtime');
    const pinned = await start({ 'required-plugins.noderesource.dev': '["cpusetd"]' });
    expect(pinned.cpuset().cpus).toMatch(exclusive);
    await end();
    // The same annotation with a name that nobody has: the runtime reads it.
    await expect(start({ 'required-plugins.noderesource.dev': '["nobody"]' })).rejects.toThrow(/"nobody" not present/);

    await daemon.kill();
    await expect(start()).rejects.toThrow(refused);
    const from = daemon.log.lines.length;
    daemon.start();
    await daemon.waitForLog('synchronized with the runtime', { from });
    expect((await start()).cpuset().cpus).toMatch(exclusive);
  });
});
