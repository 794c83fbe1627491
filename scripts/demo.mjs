// npm run demo: all set-up, then the demo. Needs Node 20 and npm; the rest is installed here.
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ensureDependencies } from './ensure-dependencies.mjs';

const root = new URL('..', import.meta.url).pathname;
ensureDependencies(root);
await import('./build.mjs');
const { build } = await import('esbuild');
mkdirSync(join(root, 'dist'), { recursive: true });
const outfile = join(root, 'dist/demo.js');
await build({
  absWorkingDir: root,
  entryPoints: ['scripts/demo/main.ts'],
  outfile,
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  logLevel: 'warning',
});
const { status, signal } = spawnSync(process.execPath, [outfile], { stdio: 'inherit', cwd: root });
process.exitCode = status ?? (signal === 'SIGINT' ? 130 : 1);
