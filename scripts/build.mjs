// Bundles src/main.ts into the one file that runs, dist/cpusetd.js, with the notices of what is in it, and builds the modules that other
// packages import, dist/lib.
import { renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { buildBundle } from './build-bundle.mjs';
import { buildLibrary } from './build-library.mjs';
import { listBundledPackages } from './release/bundled-packages.mjs';
import { formatNotices } from './release/notices.mjs';

const root = new URL('..', import.meta.url);
const partial = `dist/.cpusetd-${process.pid}.js`;
const library = buildLibrary(root);
const bundled = await buildBundle(fileURLToPath(root), fileURLToPath(new URL(partial, root)));
const notices = formatNotices('cpusetd', listBundledPackages(fileURLToPath(root), bundled));
writeFileSync(new URL('dist/NOTICES.txt', root), notices);
await library;
// Renamed when complete, and last: half a bundle is never run, and everything else is there when it is.
// kubectl finds a plugin, and what completes its command lines, by the name of a file; the program knows by it what it is.
for (const name of ['kubectl-cpuset', 'kubectl_complete-cpuset']) {
  const link = new URL(`dist/${name}`, root);
  rmSync(link, { force: true });
  symlinkSync('cpusetd.js', link);
}
renameSync(new URL(partial, root), new URL('dist/cpusetd.js', root));
