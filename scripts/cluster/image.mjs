// The image of the Dockerfile, built without a registry: its base is made of Debian's packages, and what its first stage builds is
// dist/cpusetd.js and the Node that runs this.
//
//   node scripts/cluster/image.mjs ARCHIVE     writes the image, named localhost/cpusetd:test, as an OCI archive (a quarter of a minute)
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheDir } from '../shared/cache.mjs';
import { ensurePackages } from '../shared/debian.mjs';
import { isMain } from '../shared/is-main.mjs';

/** @import { EnsureOptions } from '../shared/cache.mjs' */

/** The number of the recipe. Raise it when the packages change: older folders are then left aside. */
const recipe = 1;
/** Roots of Debian: one has buildah, the other is what the Dockerfile begins its last stage with. */
const roots = {
  tools: { suite: 'trixie', packages: ['buildah', 'netavark'] },
  base: { suite: 'bookworm', packages: ['util-linux'] },
};
const imageName = 'localhost/cpusetd:test';
const project = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Gives the folders that the image is built with, and makes them when the cache has none (about a minute).
 * @param {EnsureOptions} options
 * @returns {{ tools: string, base: string }}
 * @throws {Error} with the reason for the operator when they can't be had
 */
export function ensureImageRoots({ env = process.env, log = () => {} } = {}) {
  /** @param {keyof typeof roots} name */
  const ensure = (name) => {
    const path = join(cacheDir(env), `image-${name}-${roots[name].suite}-${recipe}`);
    return ensurePackages(path, { ...roots[name], variant: 'minbase' }, log);
  };
  return { tools: ensure('tools'), base: ensure('base') };
}

/**
 * Builds the image from the Dockerfile of the project.
 * @param {string} archive the file that gets it
 * @returns {void}
 */
function buildImage(archive) {
  const { tools, base } = ensureImageRoots();
  const work = mkdtempSync(join(tmpdir(), 'cpusetd-image-'));
  const context = join(work, 'context');
  try {
    mkdirSync(join(context, 'build/usr/local/bin'), { recursive: true });
    mkdirSync(join(context, 'build/src/dist'), { recursive: true });
    copyFileSync(join(project, 'Dockerfile'), join(context, 'Dockerfile'));
    copyFileSync(process.execPath, join(context, 'build/usr/local/bin/node'));
    copyFileSync(join(project, 'dist/cpusetd.js'), join(context, 'build/src/dist/cpusetd.js'));
    const script = fileURLToPath(new URL('build-image.sh', import.meta.url));
    const args = ['--mount', '--propagation', 'private', 'sh', script, tools, base, context, work, imageName];
    execFileSync('unshare', args, { stdio: ['ignore', 'ignore', 'pipe'], timeout: 300_000, encoding: 'utf8' });
    copyFileSync(join(work, 'image.tar'), archive);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

if (isMain(import.meta.url)) buildImage(process.argv[2] ?? 'image.tar');
