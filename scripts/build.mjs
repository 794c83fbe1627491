// Bundles src/main.ts into the one file that runs, dist/cpusetd.js, and builds the modules that other packages import, dist/lib.
import { renameSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { buildBundle } from './build-bundle.mjs';
import { buildLibrary } from './build-library.mjs';

const root = new URL('..', import.meta.url);
const partial = `dist/.cpusetd-${process.pid}.js`;
const library = buildLibrary(root);
await buildBundle(fileURLToPath(root), fileURLToPath(new URL(partial, root)));
await library;
// Renamed when complete, and last: half a bundle is never run, and everything else is there when it is.
renameSync(new URL(partial, root), new URL('dist/cpusetd.js', root));
