import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { suiteKindOf } from './cri-suite-kinds';
import { CriSuite, removeUnusedCgroup, type SuiteResults } from './cri-suite-run';
import { PROXY } from './proxy-node';
import { type Daemon, type DaemonOptions, onRuntimes, type Runtime, startDaemon, startRuntime } from './rig';
import { requireGoPrograms } from './rig/go-program';

jest.setTimeout(600_000);

onRuntimes(['release', 'crio'], "containerd's own tests of CRI", (suite) => {
  const { programs, define } = requireGoPrograms('containerd-integration');
  define('run directly, through the proxy and beside the plugin', () => {
    const { excluded, settingCpus, leastPassed, cgroup } = suiteKindOf(suite);
    const runtimes: Runtime[] = [];
    const daemons: Daemon[] = [];
    const prepare = async () => {
      const runtime = await startRuntime({ suite, nri: true, ownNetwork: true });
      runtimes.push(runtime);
      return { runtime, suite: await CriSuite.prepare(runtime, programs) };
    };
    const runDaemon = async (options: DaemonOptions): Promise<void> => {
      const daemon = startDaemon(options);
      daemons.push(daemon);
      await daemon.ready();
    };
    afterAll(async () => {
      for (const daemon of daemons) await daemon.dispose();
      for (const runtime of runtimes) await runtime.stop();
      removeUnusedCgroup(cgroup);
    });

    const runDirectly = async () => {
      const { suite } = await prepare();
      return { names: suite.names, direct: await suite.run() };
    };
    const runThroughProxy = async (): Promise<SuiteResults> => {
      const { runtime, suite } = await prepare();
      // The proxy listens on the runtime's own path: the suite finds the sockets of shims by that.
      const behind = 'run/behind.sock';
      const criSocket = join(runtime.work, behind);
      renameSync(runtime.criSocket, criSocket);
      await runDaemon({ runtime: { ...runtime, criSocket }, criListen: runtime.criSocket, args: PROXY });
      return suite.run(join('/', behind));
    };
    const runBesidePlugin = async (): Promise<SuiteResults> => {
      const { runtime, suite } = await prepare();
      await runDaemon({ runtime, args: ['--reserved-cpus', '0'] });
      return suite.run();
    };

    test('each has the same verdict in the three runs, unless it sets CPUs', async () => {
      const runs = [runDirectly(), runThroughProxy(), runBesidePlugin()] as const;
      await Promise.allSettled(runs); // so that all runtimes are known to the end
      const [{ names, direct }, proxy, plugin] = await Promise.all(runs);
      const verdictsOf = (name: string) => [direct, proxy, plugin].map(({ verdicts }) => verdicts.get(name));
      const rows = [...direct.verdicts.keys()].map((name) => `${name}: ${verdictsOf(name).join(', ')}`);
      console.info(['directly, through the proxy, beside the plugin:', ...rows].join('\n'));

      expect([...excluded.keys()].filter((name) => !names.includes(name))).toEqual([]);
      const passed = [...direct.verdicts.values()].filter((verdict) => verdict === 'PASS');
      expect(passed.length).toBeGreaterThanOrEqual(leastPassed);
      const settingNames = Object.keys(settingCpus);
      const found = settingNames.map((name) => [name, verdictsOf(name).map((verdict) => verdict?.split(' ')[0])]);
      expect(Object.fromEntries(found)).toEqual(settingCpus);
      expect(listDifferences(direct, proxy, settingNames)).toEqual([]);
      expect(listDifferences(direct, plugin, settingNames)).toEqual([]);
    });
  });
});

/** The tests and subtests with different verdicts in two runs, and the outputs of both. */
function listDifferences(one: SuiteResults, other: SuiteResults, except: readonly string[]): readonly object[] {
  const names = new Set([...one.verdicts.keys(), ...other.verdicts.keys()]);
  return [...names]
    .filter((name) => !except.includes(name) && one.verdicts.get(name) !== other.verdicts.get(name))
    .map((name) => {
      const describeRun = ({ verdicts, outputs }: SuiteResults) => ({
        verdict: verdicts.get(name),
        output: outputs.get(name.split('/')[0] ?? '')?.split('\n'),
      });
      return { name, runs: [one, other].map(describeRun) };
    });
}
