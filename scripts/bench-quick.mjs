// npm run bench:quick: the benches of the promise and of the cluster half, in seconds. It fails when one of them does not work; its figures mean
// nothing, and no figure makes it fail.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureCluster } from './cluster/ensure.mjs';
import { CannotBuild } from './go-programs/build.mjs';
import { findMissingPrerequisite } from './runtime/debian-root.mjs';
import { endNotRun, writeResults } from './test-run/results.mjs';

/** The limit for one bench. Benches take seconds, and a busy machine is no failure. */
const HANGS_AFTER_MS = 600_000;

const root = fileURLToPath(new URL('..', import.meta.url));
const missing = findMissingPrerequisite('trixie');
if (missing !== undefined) endNotRun('benches that need a real containerd', missing);

/** @type {string[]} */
const problems = [];
const benches = [
  ['nri', 'groups'],
  ['state'],
  ['sweep'],
  ['usage-collect'],
  ['drift'],
  ['drift', 'sid'],
  ['annotator'],
  ['extender'],
];
/** @type {import('./test-run/results.mjs').NotRun[]} */
const notRun = [];
try {
  ensureCluster();
  benches.push(['scheduler']);
} catch (error) {
  if (!(error instanceof CannotBuild)) throw error;
  notRun.push({ what: 'the bench with a real kube-scheduler', tests: 1, why: error.message });
}
for (const bench of benches) {
  console.log(`\nnpm run bench -- ${bench.join(' ')}   (quick)`);
  const args = [join(root, 'bench/run.mjs'), ...bench, '--quick'];
  const { status, signal } = spawnSync(process.execPath, args, {
    cwd: root,
    stdio: 'inherit',
    timeout: HANGS_AFTER_MS,
  });
  if (status !== 0)
    problems.push(`${bench.join(' ')}: ${status === null ? `ended by ${signal}` : `exit status ${status}`}`);
}
writeResults({ passed: benches.length - problems.length, failed: problems.length, problems, notRun });
for (const problem of problems) console.error(`FAILED: ${problem}`);
process.exitCode = problems.length > 0 ? 1 : 0;
