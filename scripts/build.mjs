// Bundles src/main.ts into the one file that runs: dist/cpusetd.js.
// Proto files are read at run time only for gRPC reflection; they are bundled as text.
import { build } from 'esbuild';
import { readFileSync, chmodSync } from 'node:fs';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

await build({
  absWorkingDir: new URL('..', import.meta.url).pathname,
  entryPoints: ['src/main.ts'],
  outfile: 'dist/cpusetd.js',
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
chmodSync(new URL('../dist/cpusetd.js', import.meta.url), 0o755);
