// npm run demo: all set-up, then the demo. Needs Node 20 and npm; the rest is installed here.
import { fileURLToPath } from 'node:url';
import { ensureDependencies } from './ensure-dependencies.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
ensureDependencies(root);
await import('./build.mjs');
const { bundleAndRun } = await import('./shared/bundle.mjs');
const { status, signal } = await bundleAndRun(root, { entry: 'scripts/demo/main.ts', name: 'demo' });
process.exitCode = status ?? (signal === 'SIGINT' ? 130 : 1);
