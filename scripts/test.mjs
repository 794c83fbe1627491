// npm test: all set-up, then the tests that a change should pass: generated code, format, lint, types, unit and conformance tests, and the
// core of the end-to-end tests on real containerds. npm run test:all: that, and then everything else there is.
//
//   node scripts/test.mjs [--all]
//
// The last line is `tests: 3842 passed, 0 failed, 12 skipped`, also after a failure; see scripts/test-run.
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { formatReport, sumSteps } from './test-run/report.mjs';
import { writeResults } from './test-run/results.mjs';
import { runSteps } from './test-run/run-steps.mjs';
import { listFurtherSteps, listSteps } from './test-run/steps.mjs';

/** The limit for all steps: the totals are printed before CI ends a run in which a step hangs. */
const limitMinutes = 88;

const root = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({ options: { all: { type: 'boolean', default: false } } });
const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => stop.abort('interrupted'));
const timer = setTimeout(() => stop.abort(`not done after ${limitMinutes} minutes`), limitMinutes * 60_000);
const folder = mkdtempSync(join(tmpdir(), 'cpusetd-test-'));

/** @type {import('./test-run/steps.mjs').Step} */
const npmTest = { name: 'npm test', command: ['npm', 'test'], counts: 'results', limitMinutes: 40, graceSeconds: 60 };
const steps = await runSteps(values.all ? [npmTest, ...listFurtherSteps(root)] : listSteps(), {
  root,
  folder,
  cpus: availableParallelism(),
  isCi: process.env.CI === 'true',
  signal: stop.signal,
  print: (text) => process.stdout.write(text),
});
clearTimeout(timer);
rmSync(folder, { recursive: true, force: true });

const { passed, failed } = sumSteps(steps);
writeResults({
  passed,
  failed,
  problems: steps.flatMap(({ problems }) => problems),
  notRun: steps.flatMap(({ notRun }) => notRun),
  steps,
});
process.exitCode = failed > 0 ? 1 : 0;
process.stdout.write(`${formatReport(steps, performance.now() / 1000)}\n`);
