import { defineUnless } from '../support/not-run';
import {
  type Daemon,
  findWhyNoRequiredPlugin,
  requireRuntime,
  type Runtime,
  type RunningPod,
  startDaemon,
  startRuntime,
} from './rig';

jest.setTimeout(300_000);

requireRuntime('sid')('a runtime that is told to require cpusetd', () => {
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
  const exclusive = /^[1-9]\d*$/; // one CPU, and not the reserved one

  const unknown = findWhyNoRequiredPlugin('sid');

  defineUnless(unknown === undefined ? 'this containerd knows required plugins' : undefined, () => {
    test('one that does not know the setting takes it and creates containers without cpusetd; with it they are pinned', async () => {
      await expect(start()).resolves.toBeDefined();
      await end();
      daemon = startDaemon({ runtime, args: ['--reserved-cpus', '0'] });
      await daemon.waitForLog('synchronized with the runtime');
      expect((await start()).cpuset().cpus).toMatch(exclusive);
    });
  });

  defineUnless(unknown, () => {
    test('no container is created without it; a pod that tolerates that is; with it all are, and none when it has died', async () => {
      const refused = /required plugin "cpusetd" not present/;
      await expect(start()).rejects.toThrow(refused);
      await expect(start({ 'cpusetd.io/tolerate-missing': 'true' })).resolves.toBeDefined();
      await end();

      daemon = startDaemon({ runtime, args: ['--reserved-cpus', '0'] });
      await daemon.waitForLog('synchronized with the runtime');
      const pinned = await start({ 'required-plugins.noderesource.dev': '["cpusetd"]' });
      expect(pinned.cpuset().cpus).toMatch(exclusive);
      await end();
      // The same annotation with a name that nobody has: the runtime reads it.
      await expect(start({ 'required-plugins.noderesource.dev': '["nobody"]' })).rejects.toThrow(
        /"nobody" not present/,
      );

      await daemon.kill();
      await expect(start()).rejects.toThrow(refused);
      const from = daemon.log.lines.length;
      daemon.start();
      await daemon.waitForLog('synchronized with the runtime', { from });
      expect((await start()).cpuset().cpus).toMatch(exclusive);
    });
  });
});
