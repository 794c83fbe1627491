// Bundles src/main.ts into one file.
import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { packLate } from './pack-late.mjs';
import { listInputs, nodeBundle } from './shared/bundle.mjs';
import { buildPageAssets } from './shared/page-assets.mjs';

/**
 * Writes the program as one executable file.
 * @param {string} root the project's folder
 * @param {string} outfile
 * @param {{ isDebugged?: boolean }} [options] isDebugged: its text is as esbuild writes it, with the map to the sources
 * that a debugger takes
 * @returns {Promise<string[]>} the files of npm packages that it contains, as paths from `root`
 */
export async function buildBundle(root, outfile, { isDebugged = false } = {}) {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  /** @type {import('esbuild').BuildOptions} */
  const common = {
    ...nodeBundle,
    absWorkingDir: root,
    // The notices of a release have the licences: scripts/release/notices.mjs.
    legalComments: 'none',
    // V8 keeps the text of what it runs: shorter by a third. Names stay, and lines that say in a stack trace where it
    // was.
    minifyWhitespace: !isDebugged,
    minifySyntax: !isDebugged,
    lineLimit: 160,
  };
  /** @type {string[]} */
  const inputs = [];
  const page = await buildPageAssets(root);
  const { metafile } = await build({
    ...common,
    entryPoints: ['src/main.ts'],
    outfile,
    metafile: true,
    sourcemap: isDebugged && 'inline',
    banner: { js: '#!/usr/bin/env node' },
    define: {
      __CPUSETD_VERSION__: JSON.stringify(version),
      __CPUSETD_PAGE__: JSON.stringify({ script: page.script, style: page.style }),
    },
    plugins: [packLate(common, (late) => inputs.push(...late))],
  });
  chmodSync(outfile, 0o755);
  const all = new Set([...inputs, ...listInputs(metafile), ...page.inputs]);
  return [...all].filter((path) => path.startsWith('node_modules/')).sort();
}
