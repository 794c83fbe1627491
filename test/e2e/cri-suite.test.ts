import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { CriSuite, ensureSuiteProgram, excluded, type Verdicts } from './cri-suite-run';
import { PROXY } from './proxy-node';
import { type Daemon, requireRuntime, type Runtime, startDaemon, startRuntime } from './rig';

jest.setTimeout(600_000);

requireRuntime('release')("containerd's own tests of CRI, on a release of containerd", () => {
  const runtimes: Runtime[] = [];
  const daemons: Daemon[] = [];
  let programs: string;
  const prepare = async (): Promise<{ runtime: Runtime; suite: CriSuite }> => {
    const runtime = await startRuntime({ suite: 'release', nri: true, ownNetwork: true });
    runtimes.push(runtime);
    return { runtime, suite: await CriSuite.prepare(runtime, programs) };
  };
  beforeAll(() => {
    programs = ensureSuiteProgram();
  });
  afterEach(async () => {
    for (const daemon of daemons.splice(0)) await daemon.dispose();
    for (const runtime of runtimes.splice(0)) await runtime.stop();
  });

  const runDirectly = async (): Promise<Verdicts> => {
    const { runtime, suite } = await prepare();
    return suite.run(runtime.criSocketInside);
  };
  const runThroughProxy = async (): Promise<Verdicts> => {
    const { runtime, suite } = await prepare();
    // The proxy listens on the runtime's own path: tests find the sockets of shims by that.
    const behind = join(runtime.work, 'run/behind.sock');
    renameSync(runtime.criSocket, behind);
    const daemon = startDaemon({
      runtime: { ...runtime, criSocket: behind },
      criListen: runtime.criSocket,
      args: PROXY,
    });
    daemons.push(daemon);
    await daemon.ready();
    return suite.run(runtime.criSocketInside, behind);
  };
  const runBesidePlugin = async (): Promise<Verdicts> => {
    const { runtime, suite } = await prepare();
    const daemon = startDaemon({ runtime, args: ['--reserved-cpus', '0'] });
    daemons.push(daemon);
    await daemon.ready();
    return suite.run(runtime.criSocketInside);
  };

  test('each test has the same verdict directly, through the proxy and beside the plugin', async () => {
    const runs = await Promise.allSettled([runDirectly(), runThroughProxy(), runBesidePlugin()]);
    const [direct, proxy, plugin] = runs.map((run) => {
      if (run.status === 'rejected') throw run.reason;
      return run.value;
    }) as [Verdicts, Verdicts, Verdicts];
    const rows = [...direct].map(([name, verdict]) => [verdict, proxy.get(name), plugin.get(name), name].join(' '));
    console.info(['directly, through the proxy, beside the plugin', ...rows].join('\n'));
    expect(excluded.size).toBeGreaterThan(0);
    expect(proxy).toEqual(direct);
    expect(plugin).toEqual(direct);
  });
});
