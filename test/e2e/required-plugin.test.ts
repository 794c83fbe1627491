import { defineUnless } from '../support/not-run';
import {
  type Daemon,
  knowsRequiredPlugins,
  requireRuntime,
  type Runtime,
  type RunningPod,
  startDaemon,
  startRuntime,
  type Suite,
} from './rig';

jest.setTimeout(300_000);

/** A runtime with cpusetd as a required plugin, and pods on it one after the other. */
function useRuntime(suite: Suite) {
  let runtime: Runtime;
  let daemon: Daemon | undefined;
  let pods: RunningPod[] = [];
  beforeAll(async () => {
    runtime = await startRuntime({ suite, nri: true, requiredPlugin: 'cpusetd' });
    console.info(runtime.label);
  });
  afterAll(() => runtime?.stop());
  afterEach(async () => {
    for (const pod of pods) await pod.remove();
    pods = [];
    await daemon?.dispose();
    daemon = undefined;
  });
  return {
    startDaemon: async () => {
      daemon = startDaemon({ runtime, args: ['--reserved-cpus', '0'] });
      await daemon.waitForLog('synchronized with the runtime');
      return daemon;
    },
    start: async (annotations: Readonly<Record<string, string>> = {}) => {
      const pod = await runtime.kubelet.runPod({ containers: [{ name: 'web', cpus: 1 }], annotations });
      pods.push(pod);
      return pod.startContainer('web');
    },
    end: async () => {
      await pods.pop()?.remove();
    },
  };
}

const exclusive = /^[1-9]\d*$/; // one CPU, and not the reserved one

requireRuntime('sid')('a runtime that does not know required plugins, with cpusetd as one', () => {
  defineUnless(
    knowsRequiredPlugins() ? 'the containerd of Debian sid knows required plugins by now' : undefined,
    () => {
      const { start, end, startDaemon } = useRuntime('sid');

      test('the setting is ignored: containers are created without cpusetd, and are pinned with it', async () => {
        await expect(start()).resolves.toBeDefined();
        await end();
        await startDaemon();
        expect((await start()).cpuset().cpus).toMatch(exclusive);
      });
    },
  );
});

requireRuntime('release')('a runtime with cpusetd as a required plugin', () => {
  const { start, end, startDaemon } = useRuntime('release');
  const refused = /required plugin "cpusetd" not present/;

  test('without cpusetd only containers of a tolerating pod are created; with it all are, until it is killed', async () => {
    await expect(start()).rejects.toThrow(refused);
    await expect(start({ 'cpusetd.io/tolerate-missing': 'true' })).resolves.toBeDefined();
    await end();

    const daemon = await startDaemon();
    const pinned = await start({ 'required-plugins.noderesource.dev': '["cpusetd"]' });
    expect(pinned.cpuset().cpus).toMatch(exclusive);
    await end();
    // The same annotation with another name: the runtime does read it.
    await expect(start({ 'required-plugins.noderesource.dev': '["nobody"]' })).rejects.toThrow(/"nobody" not present/);

    await daemon.kill();
    await expect(start()).rejects.toThrow(refused);
    const from = daemon.log.lines.length;
    daemon.start();
    await daemon.waitForLog('synchronized with the runtime', { from });
    expect((await start()).cpuset().cpus).toMatch(exclusive);
  });
});
