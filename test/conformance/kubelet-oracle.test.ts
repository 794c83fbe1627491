import { requireGoPrograms } from '../e2e/rig/go-program';
import { compareWithKubelet } from './kubelet/compare';
import { formatTally } from './kubelet/format-tally';

jest.setTimeout(600_000);

const { programs, define } = requireGoPrograms('kubelet-oracle');

define('the code of the kubelet, asked beside cpusetd', () => {
  test('each difference is of a documented kind', async () => {
    const seed = Number(process.env['CPUSETD_TEST_SEED'] ?? 20);
    const tally = await compareWithKubelet(programs, { seed, decisions: 20_000, mostCpus: 64 });
    console.info(`seed ${seed}\n${formatTally(tally)}`);
    expect(tally.examples).toEqual([]);
    expect(tally.decisions).toBeGreaterThanOrEqual(20_000);
    // Every kind of decision is among them, and those that differ are few.
    expect([...tally.compared.keys()].sort()).toEqual(
      ['admission', 'admission after a restart', 'hints', 'memory nodes', 'merged hints', 'reservation', 'set', 'set after a restart', 'set of a container', 'set of a container made again', 'set on chosen nodes', 'shared pool', 'start'], // prettier-ignore
    );
  });
});
