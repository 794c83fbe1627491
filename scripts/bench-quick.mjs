// npm run bench:quick: the benches of the promise and of the cluster half, in seconds. It fails when one of them does
// not work; its figures mean nothing, and no figure makes it fail. So they run side by side, as many as there are CPUs.
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureCluster } from './cluster/ensure.mjs';
import { CannotBuild } from './go-programs/build.mjs';
import { findMissingPrerequisite } from './runtime/debian-root.mjs';
import { messageOf } from './shared/errors.mjs';
import { runWithProgress } from './shared/run-with-progress.mjs';
import { endNotRun, writeResults } from './test-run/results.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const missing = findMissingPrerequisite('trixie');
if (missing !== undefined) endNotRun('benches that need a real containerd', missing);

/** @type {string[]} */
const problems = [];
/** The longest come first. */
const benches = [
  ['extender'],
  ['workload'],
  ['nri', 'groups'],
  ['annotator'],
  ['drift', 'sid'],
  ['drift'],
  ['usage-collect'],
  ['top', '1000'],
  ['sweep'],
  ['state'],
];
/** @type {import('./test-run/results.mjs').NotRun[]} */
const notRun = [];
try {
  ensureCluster();
  benches.unshift(['scheduler']);
} catch (error) {
  if (!(error instanceof CannotBuild)) throw error;
  notRun.push({ what: 'the bench with a real kube-scheduler', tests: 1, why: error.message });
}
const count = benches.length;
const runNext = async () => {
  for (let bench = benches.shift(); bench !== undefined; bench = benches.shift()) await runBench(bench);
};
await Promise.all(Array.from({ length: availableParallelism() }, runNext));
writeResults({ passed: count - problems.length, failed: problems.length, problems, notRun });
for (const problem of problems) console.error(`does not work: ${problem}`);
process.exitCode = problems.length > 0 ? 1 : 0;

/**
 * Runs one bench, and prints what it printed when it has ended.
 * @param {string[]} bench
 */
async function runBench(bench) {
  const what = `npm run bench -- ${bench.join(' ')}`;
  const startedMs = Date.now();
  const args = [join(root, 'bench/run.mjs'), ...bench, '--quick'];
  try {
    const { status, stdout, stderr } = await runWithProgress(process.execPath, args, { what, cwd: root });
    console.log(`\n${what}   (quick, ${((Date.now() - startedMs) / 1000).toFixed(1)} s)\n${stdout}${stderr}`.trimEnd());
    if (status !== 0) problems.push(`${bench.join(' ')}: exit status ${status}`);
  } catch (error) {
    problems.push(`${bench.join(' ')}: ${messageOf(error)}`);
  }
}
