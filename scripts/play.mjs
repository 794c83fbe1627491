// npm run play: builds what is stale, and starts a node to play with.
//
//   npm run play [-- --machine NAME] [--reserved-cpus LIST] [--inspect] [-- OPTIONS of cpusetd run]
//
// Commands come from a prompt, or from a pipe: `help` lists them.
import { fileURLToPath } from 'node:url';
import { ensureDependencies } from './ensure-dependencies.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
ensureDependencies(root);
const { buildAll } = await import('./build.mjs');
await buildAll({ onlyIfStale: true });
const { bundleAndRun } = await import('./shared/bundle.mjs');
const args = process.argv.slice(2);
const { status, signal } = await bundleAndRun(root, { entry: 'scripts/play/main.ts', name: 'play', args });
process.exitCode = status ?? (signal === 'SIGINT' ? 130 : 1);
