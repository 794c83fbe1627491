// Builds what other packages import: dist/lib/ttrpc.js and dist/lib/nri.js with their types in dist/lib/types, and the examples,
// which import it as cpusetd/nri.
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { promisify } from 'node:util';
import { build } from 'esbuild';

/** NRI uses the ttrpc of its sibling: one class TtrpcError, whichever of the two a caller imports. */
const siblingTtrpc = {
  name: 'sibling-ttrpc',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\.\/wire$/ }, () => ({ path: './ttrpc.js', external: true }));
  },
};

/** Dependencies stay imports: package.json lists them. `root` is the project's folder as a URL. */
export async function buildLibrary(root) {
  const common = {
    absWorkingDir: root.pathname,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    logLevel: 'warning',
  };
  const library = { ...common, bundle: true, packages: 'external', legalComments: 'none' };
  for (const folder of ['lib', 'examples']) rmSync(new URL(`dist/${folder}`, root), { recursive: true, force: true });
  await Promise.all([
    build({ ...library, entryPoints: ['src/wire/index.ts'], outfile: 'dist/lib/ttrpc.js' }),
    build({ ...library, entryPoints: ['src/nri/index.ts'], outfile: 'dist/lib/nri.js', plugins: [siblingTtrpc] }),
    build({ ...common, entryPoints: ['examples/*.ts'], outdir: 'dist/examples' }),
    promisify(execFile)(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.library.json'], {
      cwd: root,
    }),
  ]);
}
