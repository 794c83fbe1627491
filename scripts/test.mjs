// npm test: all set-up, then the tests that a change should pass: generated code, format, lint, types, unit and
// conformance tests, and the core of the end-to-end tests on real containerds. npm run test:all: that, and then
// everything else there is.
//
//   node scripts/test.mjs [--all]
//
// The last line is `tests: 3842 passed, 0 failed, 12 skipped`, also after a failure; see scripts/test-run.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { describeCache } from './shared/cache.mjs';
import { formatReport, sumSteps } from './test-run/report.mjs';
import { planParts, resultsVariable, writeResults } from './test-run/results.mjs';
import { describeBusy } from './test-run/run-step.mjs';
import { runSteps } from './test-run/run-steps.mjs';
import { listAllSteps, listSteps } from './test-run/steps.mjs';

/** The limit of CI for all steps: the totals are printed before CI ends a run in which a step hangs. */
const limitMinutes = 88;

const root = fileURLToPath(new URL('..', import.meta.url));
const logs = join(root, 'test-logs');
const { values } = parseArgs({ options: { all: { type: 'boolean', default: false } } });
const isCi = process.env.CI === 'true';
/** Another run of steps started this one: that one has the table and the last line. */
const isInner = Boolean(process.env[resultsVariable]);

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => stop.abort('interrupted'));
const timer =
  isCi &&
  setTimeout(() => stop.abort(`not done after ${limitMinutes} minutes${describeBusy()}`), limitMinutes * 60_000);
const folder = mkdtempSync(join(tmpdir(), 'cpusetd-test-'));
process.env.KUBECACHEDIR = join(folder, 'kubectl'); // else kubectl keeps what it discovers in the home folder
if (!isInner) rmSync(logs, { recursive: true, force: true });
mkdirSync(logs, { recursive: true });

const planned = values.all ? listAllSteps() : listSteps();
planParts(planned.map(({ name }) => name));
const steps = await runSteps(planned, {
  root,
  folder,
  logs,
  machine: { cpus: availableParallelism(), memoryGiB: totalmem() / 2 ** 30 },
  isCi,
  signal: stop.signal,
  print: (line) => process.stdout.write(`${line}\n`),
  onEnd: (result) => {
    const { passed, failed, problems, notRun } = result;
    writeResults({ part: result.name, passed, failed, problems, notRun, steps: [result] });
  },
});
if (timer) clearTimeout(timer);
rmSync(folder, { recursive: true, force: true });

process.exitCode = sumSteps(steps).failed > 0 ? 1 : 0;
if (!isInner) {
  const kept = describeCache();
  if (kept !== undefined) process.stdout.write(`\n${kept}\n`);
  process.stdout.write(`${formatReport(steps, performance.now() / 1000)}\n`);
}
