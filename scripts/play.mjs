// npm run play: builds what is stale, and starts a node to play with.
//
//   npm run play [-- --machine NAME] [--reserved-cpus LIST] [--inspect] [-- OPTIONS of cpusetd run]
//
// With --inspect the daemon listens for a debugger on loopback, and is a build with a map to the sources.
// Commands come from a prompt, or from a pipe: `help` lists them.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureDependencies } from './ensure-dependencies.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
ensureDependencies(root);
const { buildAll } = await import('./build.mjs');
await buildAll({ onlyIfStale: true });
const [{ bundleAndRun }, { buildBundle }] = await Promise.all([
  import('./shared/bundle.mjs'),
  import('./build-bundle.mjs'),
]);
const args = process.argv.slice(2);
const debugged = args.includes('--inspect') ? join(root, 'dist', `cpusetd-debug-${process.pid}.js`) : undefined;
if (debugged !== undefined) {
  await buildBundle(root, debugged, { isDebugged: true });
  args.unshift('--bundle', debugged);
}
const { status, signal } = await bundleAndRun(root, { entry: 'scripts/play/main.ts', name: 'play', args });
if (debugged !== undefined) rmSync(debugged, { force: true });
process.exitCode = status ?? (signal === 'SIGINT' ? 130 : 1);
