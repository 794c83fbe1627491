// The browser's side of the page: src/admin/page/client as one script and one style sheet. Run as a program, it prints both as JSON.
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { isMain } from './is-main.mjs';

/**
 * Bundles the script and the style sheet.
 * @param {string} root the project's folder
 * @returns {Promise<{ script: string, style: string }>} their texts
 */
export async function buildPageAssets(root) {
  const folder = 'src/admin/page/client';
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [`${folder}/main.ts`, `${folder}/page.css`],
    bundle: true,
    write: false,
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
  return { script: textOf('.js'), style: textOf('.css') };
}

if (isMain(import.meta.url)) {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  process.stdout.write(JSON.stringify(await buildPageAssets(root)));
}
