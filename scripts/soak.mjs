// npm run soak -- --minutes N [--seed S]: churn on a real containerd, watched by the kernel's own words.
import { build } from 'esbuild';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

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
