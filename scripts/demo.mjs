// npm run demo: all set-up, then the demo. Needs Node 20 and npm; the rest is installed here.
import { fileURLToPath } from 'node:url';
import { ensureDependencies } from './ensure-dependencies.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
ensureDependencies(root);
const { buildAll } = await import('./build.mjs');
await buildAll({ onlyIfStale: true });
const { bundleAndRun } = await import('./shared/bundle.mjs');
const { status, signal } = await bundleAndRun(root, { entry: 'scripts/demo/main.ts', name: 'demo' });
if (status === 0) await sayWhatNext();
process.exitCode = status ?? (signal === 'SIGINT' ? 130 : 1);

/** Says where the cache is, and the command that comes next. */
async function sayWhatNext() {
  const { describeCache } = await import('./shared/cache.mjs');
  console.log(`\n${describeCache() ?? 'Nothing is kept outside this folder.'}`);
  console.log(
    'Next: docs/quick-start.md has cpusetd on one node of your cluster, in five minutes. To see if this machine could run it, which changes nothing:\n' +
      '    node dist/cpusetd.js check --reserved-cpus 0',
  );
}
