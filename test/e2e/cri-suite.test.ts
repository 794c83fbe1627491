import { suiteKindOf } from './cri-suite-kinds';
import { CriSuite } from './cri-suite-run';
import { removeUnusedCgroup } from './cri-tests-inside';
import { formatVerdicts, listDifferences, ThreeRuns } from './cri-tests-three-runs';
import { onRuntimes } from './rig';
import { requireGoPrograms } from './rig/go-program';

jest.setTimeout(600_000);

onRuntimes(['release', 'crio'], "containerd's own tests of CRI", (suite) => {
  const { programs, define } = requireGoPrograms('containerd-integration');
  define('run directly, through the proxy and beside the plugin', () => {
    const { excluded, settingCpus, leastPassed, cgroup } = suiteKindOf(suite);
    let names: readonly string[] = [];
    const threeRuns = new ThreeRuns(suite, async (runtime) => {
      const tests = await CriSuite.prepare(runtime, programs);
      names = tests.names;
      return tests;
    });
    afterAll(async () => {
      await threeRuns.dispose();
      removeUnusedCgroup(cgroup);
    });

    test('each has the same verdict in the three runs, unless it sets CPUs', async () => {
      const runs = await threeRuns.run();
      const [direct, proxy, plugin] = runs;
      console.info(formatVerdicts(runs));

      expect([...excluded.keys()].filter((name) => !names.includes(name))).toEqual([]);
      const passed = [...direct.verdicts.values()].filter((verdict) => verdict === 'PASS');
      expect(passed.length).toBeGreaterThanOrEqual(leastPassed);
      const settingNames = Object.keys(settingCpus);
      const found = settingNames.map((name) => [name, runs.map(({ verdicts }) => verdicts.get(name)?.split(' ')[0])]);
      expect(Object.fromEntries(found)).toEqual(settingCpus);
      expect(listDifferences(direct, proxy, settingNames)).toEqual([]);
      expect(listDifferences(direct, plugin, settingNames)).toEqual([]);
    });
  });
});
