// Bundles src/main.ts into the one file that runs, dist/cpusetd.js, and builds the modules that other packages import, dist/lib.
import { build } from 'esbuild';
import { chmodSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { buildLibrary } from './build-library.mjs';
import { packLate } from './pack-late.mjs';
import { nodeBundle } from './shared/bundle.mjs';
import { buildPageAssets } from './shared/page-assets.mjs';

const root = new URL('..', import.meta.url);
const { version } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));
/** @type {import('esbuild').BuildOptions} */
const common = {
  ...nodeBundle,
  absWorkingDir: root.pathname,
  legalComments: 'none',
  // V8 keeps the text of what it runs: shorter by a third. Names stay, and lines that say in a stack trace where it was.
  minifyWhitespace: true,
  minifySyntax: true,
  lineLimit: 160,
};

const partial = `dist/.cpusetd-${process.pid}.js`;
const library = buildLibrary(root);
await build({
  ...common,
  entryPoints: ['src/main.ts'],
  outfile: partial,
  banner: { js: '#!/usr/bin/env node' },
  define: {
    __CPUSETD_VERSION__: JSON.stringify(version),
    __CPUSETD_PAGE__: JSON.stringify(await buildPageAssets(root.pathname)),
  },
  plugins: [packLate(common)],
});
await library;
// Renamed when complete, and last: half a bundle is never run, and everything else is there when it is.
const made = new URL(partial, root);
chmodSync(made, 0o755);
// kubectl finds a plugin by the name of its file; the program knows by it what it is.
const plugin = new URL('dist/kubectl-cpuset', root);
rmSync(plugin, { force: true });
symlinkSync('cpusetd.js', plugin);
renameSync(made, new URL('dist/cpusetd.js', root));
