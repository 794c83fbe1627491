// Chromium as Debian packs it, unpacked once into the cache with all that it needs. It runs in a root of its own, so
// that the libraries of the host do not matter:
//
//   node scripts/browser/chromium.mjs    prints the path of the program that starts it
import { join } from 'node:path';
import { cacheDir } from '../shared/cache.mjs';
import { ensurePackages } from '../shared/debian.mjs';
import { messageOf } from '../shared/errors.mjs';
import { isMain } from '../shared/is-main.mjs';

/** @import { EnsureOptions } from '../shared/cache.mjs' */

const packages = ['chromium', 'fonts-dejavu-core', 'fonts-liberation'];
/** Folders of the host that it needs: its profile is in one for temporary files. */
const shared = ['proc', 'sys', 'dev', 'tmp'];

/** Arguments for a start without a screen, without a sandbox (tests run as root) and without any call home. */
export const chromiumArguments = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/**
 * Gives the program that starts Chromium, and fetches it when the cache has none (about two minutes).
 * @param {EnsureOptions} options
 * @returns {string} its path
 * @throws {Error} with the reason for the operator when it can't be had
 */
export function ensureChromium({ env = process.env, log = () => {} } = {}) {
  const files = { start: { text: start, mode: 0o755 } };
  /** @type {import('../shared/debian.mjs').Packages} */
  const contents = { suite: 'trixie', packages, variant: 'extract', folders: shared, files };
  const root = ensurePackages(join(cacheDir(env), 'chromium'), contents, log);
  return join(root, 'start');
}

/** Its mounts are in a namespace of their own, and end with it. */
const start = `#!/bin/sh
set -e
root=$(cd "$(dirname "$0")" && pwd)
if [ "$1" != --in-namespace ]; then exec unshare --mount --propagation private "$0" --in-namespace "$@"; fi
shift
for name in ${shared.join(' ')}; do mount --rbind "/$name" "$root/$name"; done
exec chroot "$root" /usr/lib/chromium/chromium "$@"
`;

if (isMain(import.meta.url)) {
  try {
    console.log(ensureChromium({ log: (line) => console.error(line) }));
  } catch (error) {
    console.error(messageOf(error));
    process.exitCode = 1;
  }
}
