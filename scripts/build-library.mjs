// Builds the modules that other packages import: dist/lib/ttrpc.js and dist/lib/nri.js with their types in
// dist/lib/types, and the examples, which import it as cpusetd/nri.
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { nodeBundle } from './shared/bundle.mjs';

/**
 * Makes NRI use the ttrpc of its sibling: one class TtrpcError, whichever of the two a caller imports.
 * @type {import('esbuild').Plugin}
 */
const siblingTtrpc = {
  name: 'sibling-ttrpc',
  setup(builder) {
    builder.onResolve({ filter: /^\.\.\/wire$/ }, () => ({ path: './ttrpc.js', external: true }));
  },
};

/**
 * Builds the libraries, their types and the examples. Dependencies stay imports: package.json lists them.
 * @param {URL} root the project's folder
 * @returns {Promise<void>}
 */
export async function buildLibrary(root) {
  const common = { ...nodeBundle, absWorkingDir: fileURLToPath(root) };
  /** @type {import('esbuild').BuildOptions} */
  const library = { ...common, packages: 'external', legalComments: 'none' };
  for (const folder of ['lib', 'examples']) rmSync(new URL(`dist/${folder}`, root), { recursive: true, force: true });
  await Promise.all([
    build({ ...library, entryPoints: ['src/wire/index.ts'], outfile: 'dist/lib/ttrpc.js' }),
    build({ ...library, entryPoints: ['src/nri/index.ts'], outfile: 'dist/lib/nri.js', plugins: [siblingTtrpc] }),
    build({ ...common, bundle: false, entryPoints: ['examples/*.ts'], outdir: 'dist/examples' }),
    promisify(execFile)(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.library.json'], {
      cwd: root,
    }),
  ]);
}
