// A soak test on a real containerd: `node scripts/soak.mjs --rounds 240 [--seed 1] [--suite sid]`, or `--minutes 3`.
// Exit status 1 when anything is wrong.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { withClosers, type OnClose } from '../../src/app/lifecycle/closers';
import { readPeakMiB } from '../support/peak-memory';
import { createRandom } from '../support/random';
import { startDaemon, startRuntime, type Suite } from '../e2e/rig';
import { Adversary, MEMORY_LIMIT_MIB } from './adversary';
import { Churn } from './churn';
import { environmentOf, Footprint } from './footprint';

const patience = { deadlineMs: 60_000 };
/** The daemon is killed about once in this number of rounds. */
const ROUNDS_PER_KILL = 24;

const main = (): Promise<number> => withClosers(soak);

async function soak(onClose: OnClose): Promise<number> {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '240' },
      minutes: { type: 'string' }, // in place of rounds
      seed: { type: 'string', default: '1' },
      suite: { type: 'string', default: 'trixie' },
    },
  });
  const { minutes } = values;
  const random = createRandom(Number(values.seed));
  const runtime = await startRuntime({ suite: values.suite as Suite, nri: true });
  onClose(() => runtime.stop());
  const memoryFile = join(runtime.work, 'memory.json');
  const adversary = await Adversary.start();
  onClose(() => adversary.stop());
  const args = ['--reserved-cpus', '0', '--reconcile-period', '1s', ...adversary.args];
  const daemon = startDaemon({ runtime, args, env: environmentOf(memoryFile) });
  onClose(() => daemon.dispose());
  const ready = async (from: number): Promise<void> => {
    await daemon.waitForLog('synchronized with the runtime', { ...patience, from });
  };
  const churn = new Churn(runtime, random);
  const footprint = new Footprint(daemon, memoryFile);
  const counts = { rounds: 0, daemonKilled: 0, containerdKilled: 0 };
  const most = { peakMiB: 0 };
  const violations: string[] = [];
  await ready(0);
  await adversary.enter(runtime);
  const startedMs = Date.now();
  /** The part of the run that is done. */
  const done = (): number =>
    minutes === undefined
      ? counts.rounds / Number(values.rounds)
      : (Date.now() - startedMs) / (Number(minutes) * 60_000);
  while (done() < 1 || !footprint.isConclusive) {
    // The first two thirds have crashes; in the rest one process runs, in which nothing may grow.
    const crashes = done() < 2 / 3;
    const isSecondThird = done() >= 1 / 3;
    counts.rounds++;
    const mark = daemon.mark();
    if (crashes && random.int(1, ROUNDS_PER_KILL) === 1) {
      await daemon.kill();
      counts.daemonKilled++;
      for (let i = random.int(0, 3); i > 0; i--) await churn.step();
      daemon.start();
      await ready(mark);
    } else if (counts.containerdKilled === 0 && isSecondThird) {
      await runtime.kill();
      counts.containerdKilled++;
      await runtime.start();
      await ready(mark);
    } else await churn.step();
    const peakMiB = Math.round(readPeakMiB(daemon.pid));
    most.peakMiB = Math.max(most.peakMiB, peakMiB);
    if (peakMiB > MEMORY_LIMIT_MIB) violations.push(`${peakMiB} MiB of memory; the limit is ${MEMORY_LIMIT_MIB} MiB`);
    violations.push(...(await churn.findViolations()).map((what) => `round ${counts.rounds}: ${what}`));
    if (!crashes) await footprint.look(churn.size);
    if (violations.length > 0) break;
  }
  const synchronized = daemon.log.lines.filter(({ msg }) => msg === 'synchronized with the runtime').length;
  const expected = 1 + counts.daemonKilled + counts.containerdKilled;
  if (synchronized !== expected)
    violations.push(`synchronized ${synchronized} times, not ${expected}: the runtime dropped us`);
  await churn.removeAll();
  await footprint.look(churn.size, { now: true });
  const growth = footprint.findGrowth();
  console.log(summarize({ ...counts, ...churn.counts, ...adversary.counts, ...most, seed: Number(values.seed) }));
  console.log(footprint.toString());
  for (const problem of [...violations, ...growth]) console.log(`WRONG: ${problem}`);
  if (violations.length > 0) for (const line of daemon.log.lines.slice(-30)) console.log(JSON.stringify(line));
  console.log(violations.length + growth.length === 0 ? 'soak: no violation, no growth' : 'soak: FAILED');
  return violations.length + growth.length === 0 ? 0 : 1;
}

const summarize = (facts: Readonly<Record<string, number>>): string =>
  Object.entries(facts)
    .map(([what, count]) => `${what} ${count}`)
    .join(', ');

main().then(
  (status) => (process.exitCode = status),
  (error: unknown) => {
    console.error(error);
    process.exitCode = 1;
  },
);
