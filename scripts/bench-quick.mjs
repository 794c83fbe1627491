// npm run bench:quick: the benches of the promise, in seconds. It fails when one of them does not work; its figures mean
// nothing, and no figure makes it fail.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { findMissingPrerequisite } from './runtime/debian-root.mjs';

/** They take seconds; a machine that does a lot else makes no failure. */
const HANGS_AFTER_MS = 600_000;

const root = new URL('..', import.meta.url).pathname;
const missing = findMissingPrerequisite('trixie');
if (missing !== undefined && process.env.CI !== 'true') {
  console.error(`\n*** SKIPPED: benches that need a real containerd: ${missing}\n`);
  process.exit(0);
}

for (const bench of [['nri', 'groups'], ['state'], ['sweep'], ['drift']]) {
  console.log(`\nnpm run bench -- ${bench.join(' ')}   (quick)`);
  const args = [join(root, 'bench/run.mjs'), ...bench, '--quick'];
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit', timeout: HANGS_AFTER_MS });
  if (status !== 0) process.exit(1);
}
