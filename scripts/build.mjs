// Bundles src/main.ts into the one file that runs: dist/cpusetd.js.
// Proto files are read at run time only for gRPC reflection; they are bundled as text.
import { build } from 'esbuild';
import { chmodSync, readFileSync, renameSync } from 'node:fs';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

await build({
  absWorkingDir: new URL('..', import.meta.url).pathname,
  entryPoints: ['src/main.ts'],
  outfile: `dist/.cpusetd-${process.pid}.js`,
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  sourcemap: false,
  legalComments: 'none',
  banner: { js: '#!/usr/bin/env node' },
  define: { __CPUSETD_VERSION__: JSON.stringify(version) },
  loader: { '.proto': 'text' },
  logLevel: 'warning',
});
// Renamed when complete: nobody ever runs half a bundle.
const made = new URL(`../dist/.cpusetd-${process.pid}.js`, import.meta.url);
chmodSync(made, 0o755);
renameSync(made, new URL('../dist/cpusetd.js', import.meta.url));
