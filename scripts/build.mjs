// Bundles src/main.ts into the one file that runs, dist/cpusetd.js, with the notices of what is in it, and builds the
// modules that other packages import, dist/lib.
//
//   node scripts/build.mjs [--if-stale]
//
// With --if-stale it builds only if the last build did not end, or a source has changed since it began. Processes that
// build at once take turns.
import { mkdirSync, readdirSync, renameSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withHeartbeat } from './shared/heartbeat.mjs';
import { holdLock } from './shared/hold-lock.mjs';
import { isMain } from './shared/is-main.mjs';
import { logToStderr } from './shared/log.mjs';

const root = new URL('..', import.meta.url);
/** It has the time at which the last build began. It is not there while one runs, nor after one that did not end. */
const stamp = new URL('dist/.built', root);
/** Files and folders that the build reads. */
const sources = [
  ...['src', 'gen', 'examples', 'package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.library.json'],
  ...['build.mjs', 'build-bundle.mjs', 'build-library.mjs', 'pack-late.mjs', 'release/bundled-packages.mjs'].map(
    (name) => `scripts/${name}`,
  ),
  ...['release/notices.mjs', 'shared/bundle.mjs', 'shared/page-assets.mjs'].map((name) => `scripts/${name}`),
];

if (isMain(import.meta.url)) await buildAll({ onlyIfStale: process.argv.includes('--if-stale') });

/**
 * Builds everything in dist.
 * @param {{ onlyIfStale?: boolean }} [options] onlyIfStale: what others may be running now stays as long as it is up to
 * date
 */
export async function buildAll({ onlyIfStale = false } = {}) {
  const release = holdLock(fileURLToPath(new URL('node_modules/.cache/build.lock', root)), 'dist');
  try {
    if (onlyIfStale && !isStale()) return;
    logToStderr('Building cpusetd (some seconds) ...');
    await withHeartbeat('Building cpusetd', build);
  } finally {
    release();
  }
}

function isStale() {
  const built = statSync(stamp, { throwIfNoEntry: false });
  return built === undefined || sources.some((path) => findNewest(fileURLToPath(new URL(path, root))) > built.mtimeMs);
}

/**
 * The time of the last change of a file, or of anything in a folder. A folder changes when a file is removed.
 * @param {string} path
 * @returns {number}
 */
function findNewest(path) {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(stat.mtimeMs, ...readdirSync(path).map((name) => findNewest(join(path, name))));
}

async function build() {
  const [{ buildBundle }, { buildLibrary }, { listBundledPackages }, { formatNotices }] = await Promise.all([
    import('./build-bundle.mjs'),
    import('./build-library.mjs'),
    import('./release/bundled-packages.mjs'),
    import('./release/notices.mjs'),
  ]);
  const begunAt = new Date();
  const partial = `dist/.cpusetd-${process.pid}.js`;
  mkdirSync(new URL('dist', root), { recursive: true });
  rmSync(stamp, { force: true });
  const library = buildLibrary(root);
  const bundled = await buildBundle(fileURLToPath(root), fileURLToPath(new URL(partial, root)));
  const notices = formatNotices('cpusetd', listBundledPackages(fileURLToPath(root), bundled));
  writeFileSync(new URL('dist/NOTICES.txt', root), notices);
  await library;
  // Renamed when complete, and last: half a bundle is never run, and everything else is there when it is. kubectl finds
  // a plugin, and what completes its command lines, by the name of a file; the program knows by it what it is.
  for (const name of ['kubectl-cpuset', 'kubectl_complete-cpuset']) {
    const link = new URL(`dist/${name}`, root);
    rmSync(link, { force: true });
    symlinkSync('cpusetd.js', link);
  }
  renameSync(new URL(partial, root), new URL('dist/cpusetd.js', root));
  writeFileSync(stamp, '');
  utimesSync(stamp, begunAt, begunAt);
}
