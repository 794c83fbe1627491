import { removeUnusedCgroup } from './cri-tests-inside';
import { suiteKindOf } from './cri-suite-kinds';
import { formatVerdicts, listDifferences, ThreeRuns } from './cri-tests-three-runs';
import { critestKindOf } from './critest-kinds';
import { prepareCritest } from './critest-run';
import { onRuntimes } from './rig';
import { requireGoPrograms } from './rig/go-program';

jest.setTimeout(900_000);

onRuntimes(['trixie', 'release', 'crio'], 'critest', (suite) => {
  const { programs, define } = requireGoPrograms('cri-tools');
  define('run directly, through the proxy and beside the plugin', () => {
    const threeRuns = new ThreeRuns(suite, (runtime, onClose) => prepareCritest(runtime, programs, onClose));
    afterAll(async () => {
      await threeRuns.dispose();
      removeUnusedCgroup(suiteKindOf(suite).cgroup);
    });

    test('each test has the same verdict in the three runs', async () => {
      const runs = await threeRuns.run();
      const [direct, proxy, plugin] = runs;
      console.info(formatVerdicts(runs));

      const passed = [...direct.verdicts.values()].filter((verdict) => verdict === 'passed');
      expect(passed.length).toBeGreaterThanOrEqual(critestKindOf(suite).leastPassed);
      expect(listDifferences(direct, proxy)).toEqual([]);
      expect(listDifferences(direct, plugin)).toEqual([]);
    });
  });
});
