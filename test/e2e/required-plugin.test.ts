import type { Adjustment } from '../../src/nri';
import { defineUnless } from '../support/not-run';
import { startOtherPlugin } from './other-plugin';
import {
  type Daemon,
  knowsRequiredPlugins,
  requireRuntime,
  type Runtime,
  type RunningContainer,
  type RunningPod,
  startDaemon,
  startRuntime,
  type Suite,
  waitUntil,
} from './rig';

jest.setTimeout(300_000);

/** A runtime with cpusetd as a required plugin, and pods on it one after the other. */
function useRuntime(suite: Suite) {
  let runtime: Runtime;
  let daemon: Daemon | undefined;
  const ends: (() => Promise<unknown>)[] = [];
  beforeAll(async () => {
    runtime = await startRuntime({ suite, nri: true, requiredPlugin: 'cpusetd' });
    console.info(runtime.label);
  });
  afterAll(() => runtime?.stop());
  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
    await runtime.kubelet.removePods();
    await daemon?.dispose();
    daemon = undefined;
  });
  const runPod = (annotations: Readonly<Record<string, string>> = {}): Promise<RunningPod> =>
    runtime.kubelet.runPod({ containers: [{ name: 'web', cpus: 1 }], annotations });
  return {
    startDaemon: async () => {
      daemon = startDaemon({ runtime, args: ['--reserved-cpus', '0'] });
      await daemon.waitForLog('synchronized with the runtime');
      return daemon;
    },
    runPod,
    start: async (annotations?: Readonly<Record<string, string>>) => (await runPod(annotations)).startContainer('web'),
    end: () => runtime.kubelet.removePods(),
    /** Another plugin that the runtime asks before cpusetd about every container, until the end of the test. */
    startOther: async (decide: () => Promise<Adjustment>) => {
      ends.push(await startOtherPlugin(runtime, '10', decide));
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
  const { start, end, runPod, startDaemon, startOther } = useRuntime('release');
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

  test.each([
    [
      'OCI hooks',
      { hooks: { prestart: [{ path: '/bin/true' }] } },
      /"10-other" attempted restricted OCI hook injection/,
    ],
    ['namespaces', { linux: { namespaces: [{ type: 'uts' }] } }, /restricted namespace adjustment by .*10-other/],
    ['sysctls', { linux: { sysctl: { 'net.core.somaxconn': '512' } } }, /restricted sysctl adjustment by .*10-other/],
    [
      'seccomp',
      { linux: { seccompPolicy: { defaultAction: 'SCMP_ACT_ALLOW' } } },
      /10-other attempted restricted .* seccomp policy adjustment/,
    ],
  ] satisfies [string, Adjustment, RegExp][])(
    'with every restriction of the validator, a plugin that changes %s is refused, and CPUs of cpusetd are not',
    async (_what, adjust, refusal) => {
      await startDaemon();
      expect((await start()).cpuset().cpus).toMatch(exclusive);
      await end();
      await startOther(() => Promise.resolve(adjust));
      await expect(start()).rejects.toThrow(refusal);
    },
  );

  test('stopped by SIGSTOP, cpusetd is given up by the runtime, and containers are refused until it is back', async () => {
    const daemon = await startDaemon();
    process.kill(daemon.pid, 'SIGSTOP');
    try {
      await expect(start()).rejects.toThrow(refused);
      await end();
      await expect(start()).rejects.toThrow(refused);
      await end();
    } finally {
      process.kill(daemon.pid, 'SIGCONT');
    }
    await waitUntil('a container to be pinned', async () => {
      const outcome = await start().then(
        (container) => container.cpuset().cpus,
        () => 'refused',
      );
      if (outcome === 'refused') await end();
      return exclusive.test(outcome);
    });
  });

  const passesUnpinned = async (daemon: Daemon, starting: Promise<RunningContainer>, comeBack: () => unknown) => {
    const container = await starting;
    expect(container.cpuset().cpus).not.toMatch(exclusive);
    const from = daemon.mark();
    comeBack();
    await daemon.waitForLog('synchronized with the runtime', { from });
    await waitUntil('it to be pinned', () => exclusive.test(container.cpuset().cpus));
  };

  test('a request that meets cpusetd stopped passes unpinned, and the container is pinned when it is back', async () => {
    const daemon = await startDaemon();
    const pod = await runPod();
    process.kill(daemon.pid, 'SIGSTOP');
    await passesUnpinned(daemon, pod.startContainer('web'), () => process.kill(daemon.pid, 'SIGCONT'));
  });

  test('a request during which cpusetd is killed passes unpinned, and the container is pinned when it is back', async () => {
    const daemon = await startDaemon();
    const pod = await runPod();
    // The runtime asks the other plugin first.
    await startOther(async () => {
      await daemon.kill();
      return {};
    });
    await passesUnpinned(daemon, pod.startContainer('web'), () => daemon.start());
  });
});
