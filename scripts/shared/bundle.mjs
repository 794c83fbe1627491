// Bundles for Node, made with esbuild.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { runChild } from './run-child.mjs';

/** The options that all bundles share. @satisfies {import('esbuild').BuildOptions} */
export const nodeBundle = /** @type {const} */ ({
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  logLevel: 'warning',
});

/**
 * Bundles one file without writing it.
 * @param {import('esbuild').BuildOptions} options
 * @returns {Promise<Uint8Array>} the bundle
 */
export const bundleInMemory = async (options) => (await bundleWithInputs(options)).contents;

/**
 * Bundles one file without writing it, and lists what the bundle is made of.
 * @param {import('esbuild').BuildOptions} options
 * @returns {Promise<{ contents: Uint8Array, inputs: string[] }>}
 */
export async function bundleWithInputs(options) {
  const { outputFiles, metafile } = await build({ ...options, write: false, metafile: true });
  const [bundle] = outputFiles;
  if (bundle === undefined) throw new Error('esbuild made no bundle');
  return { contents: bundle.contents, inputs: listInputs(metafile) };
}

/**
 * The files of which a build has taken something.
 * @param {import('esbuild').Metafile} metafile
 * @returns {string[]} paths from the build's working directory
 */
export const listInputs = ({ outputs }) =>
  Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs)
      .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
      .map(([path]) => path),
  );

/**
 * Bundles a TypeScript file of the project into dist and runs it with the terminal of this process. The bundle is
 * removed at the end.
 * @param {string} root the project's folder
 * @param {{ entry: string, name: string, args?: string[] }} program
 * @returns the status it ended with, or the signal
 */
export async function bundleAndRun(root, { entry, name, args = [] }) {
  const outfile = join(root, 'dist', `${name}-${process.pid}.js`); // another process may run the same
  await build({ ...nodeBundle, absWorkingDir: root, entryPoints: [entry], outfile });
  try {
    return await runChild(process.execPath, [outfile, ...args], { cwd: root });
  } finally {
    rmSync(outfile, { force: true });
  }
}
