// npm run soak -- --minutes N [--seed S] [--suite trixie|sid|release]: churn on a real containerd, watched by the kernel's own words.
import { build } from 'esbuild';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { findMissingPrerequisite } from './runtime/debian-root.mjs';
import { endNotRun } from './test-run/results.mjs';

const missing = findMissingPrerequisite('trixie');
if (missing !== undefined) endNotRun('soak on a real containerd', missing);

const root = new URL('..', import.meta.url).pathname;
await import('./build.mjs');
const outfile = join(root, 'dist/soak.js');
await build({
  absWorkingDir: root,
  entryPoints: ['test/soak/main.ts'],
  outfile,
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  logLevel: 'warning',
});
const { status } = spawnSync(process.execPath, [outfile, ...process.argv.slice(2)], { stdio: 'inherit', cwd: root });
process.exitCode = status ?? 1;
