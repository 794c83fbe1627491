// The browser's side of the page: src/admin/page/client as one script and one style sheet. Run as a program, it prints
// both as JSON.
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { listInputs } from './bundle.mjs';
import { isMain } from './is-main.mjs';

/**
 * Bundles the script and the style sheet.
 * @param {string} root the project's folder
 * @returns {Promise<{ script: string, style: string, inputs: string[] }>} their texts, and the files that they are made
 * of
 */
export async function buildPageAssets(root) {
  const folder = 'src/admin/page/client';
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: [`${folder}/main.ts`, `${folder}/page.css`],
    bundle: true,
    write: false,
    metafile: true,
    outdir: 'page',
    format: 'iife',
    target: ['es2022', 'chrome109', 'firefox115', 'safari16'],
    minify: true,
    legalComments: 'none',
    logLevel: 'warning',
  });
  const textOf = (/** @type {string} */ end) => {
    const file = outputFiles.find(({ path }) => path.endsWith(end));
    if (file === undefined) throw new Error(`esbuild made no ${end}`);
    return file.text;
  };
  return { script: textOf('.js'), style: textOf('.css'), inputs: listInputs(metafile) };
}

if (isMain(import.meta.url)) {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const { script, style } = await buildPageAssets(root);
  process.stdout.write(JSON.stringify({ script, style }));
}
