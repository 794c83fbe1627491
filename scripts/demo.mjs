// npm run demo: all set-up, then the demo. Needs Node 20 and npm; the rest is installed here.
import { fileURLToPath } from 'node:url';
import { ensureDependencies } from './ensure-dependencies.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
ensureDependencies(root);
console.log('Building cpusetd (some seconds) ...');
const { buildAll } = await import('./build.mjs');
await buildAll({ onlyIfStale: true });
const { bundleAndRun } = await import('./shared/bundle.mjs');
const { status, signal } = await bundleAndRun(root, { entry: 'scripts/demo/main.ts', name: 'demo' });
if (status === 0) await sayWhatNext();
process.exitCode = status ?? (signal === 'SIGINT' ? 130 : 1);

/** Says where the cache is, and the command that comes next. */
async function sayWhatNext() {
  const { cacheDir, measureCache } = await import('./shared/cache.mjs');
  const mebibytes = measureCache();
  if (mebibytes > 0)
    console.log(`\nKept for the next time: ${cacheDir()} (${mebibytes} MiB). To remove it: rm -rf ${cacheDir()}`);
  console.log(
    'Next: node dist/cpusetd.js check --reserved-cpus 0    (can this machine run cpusetd? It changes nothing.)',
  );
}
