import { renameSync } from 'node:fs';
import { join } from 'node:path';
import {
  CriSuite,
  excluded,
  removeSuiteCgroup,
  requireSuiteProgram,
  settingCpus,
  type Verdicts,
} from './cri-suite-run';
import { PROXY } from './proxy-node';
import { type Daemon, type DaemonOptions, requireRuntime, type Runtime, startDaemon, startRuntime } from './rig';

jest.setTimeout(600_000);

requireRuntime('release')("containerd's own tests of CRI", () => {
  const { programDir, define } = requireSuiteProgram();
  define('on a release of containerd', () => {
    const runtimes: Runtime[] = [];
    const daemons: Daemon[] = [];
    const prepare = async () => {
      const runtime = await startRuntime({ suite: 'release', nri: true, ownNetwork: true });
      runtimes.push(runtime);
      return { runtime, suite: await CriSuite.prepare(runtime, programDir) };
    };
    const runDaemon = async (options: DaemonOptions): Promise<void> => {
      const daemon = startDaemon(options);
      daemons.push(daemon);
      await daemon.ready();
    };
    afterAll(async () => {
      for (const daemon of daemons) await daemon.dispose();
      for (const runtime of runtimes) await runtime.stop();
      removeSuiteCgroup();
    });

    const runDirectly = async () => {
      const { suite } = await prepare();
      return { suite, direct: await suite.run() };
    };
    const runThroughProxy = async (): Promise<Verdicts> => {
      const { runtime, suite } = await prepare();
      // The proxy listens on the runtime's own path: the suite finds the sockets of shims by that.
      const behind = 'run/behind.sock';
      const criSocket = join(runtime.work, behind);
      renameSync(runtime.criSocket, criSocket);
      await runDaemon({ runtime: { ...runtime, criSocket }, criListen: runtime.criSocket, args: PROXY });
      return suite.run(join('/', behind));
    };
    const runBesidePlugin = async (): Promise<Verdicts> => {
      const { runtime, suite } = await prepare();
      await runDaemon({ runtime, args: ['--reserved-cpus', '0'] });
      return suite.run();
    };

    test('each has the same verdict directly, through the proxy and beside the plugin, unless it sets CPUs', async () => {
      const runs = [runDirectly(), runThroughProxy(), runBesidePlugin()] as const;
      await Promise.allSettled(runs); // so that all runtimes are known to the end
      const [{ suite, direct }, proxy, plugin] = await Promise.all(runs);
      const rows = [...direct].map(([name, verdict]) => [verdict, proxy.get(name), plugin.get(name), name].join(' '));
      console.info(['directly, through the proxy, beside the plugin:', ...rows].join('\n'));

      expect([...excluded.keys()].filter((name) => !suite.names.includes(name))).toEqual([]);
      expect([...direct.values()].filter((verdict) => verdict === 'PASS').length).toBeGreaterThan(50);
      for (const name of settingCpus)
        expect([direct.get(name), proxy.get(name), plugin.get(name)]).toEqual(['PASS', 'FAIL', 'FAIL']);
      const others = (verdicts: Verdicts) => new Map([...verdicts].filter(([name]) => !settingCpus.includes(name)));
      expect(others(proxy)).toEqual(others(direct));
      expect(others(plugin)).toEqual(others(direct));
    });
  });
});
