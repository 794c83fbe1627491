import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(__dirname, '../..');
const IS_STALE =
  '[ ! -e dist/cpusetd.js ] || [ -n "$(find src gen examples package.json tsconfig.library.json scripts/build*.mjs scripts/pack-late.mjs scripts/shared/bundle.mjs scripts/shared/page-assets.mjs -newer dist/cpusetd.js -print -quit)" ]';

/** The path of dist/cpusetd.js. It is built first when a source is newer; jest's workers take turns, so it is built once. */
export function builtBundle(): string {
  mkdirSync(join(ROOT, 'dist'), { recursive: true });
  execFileSync(
    'flock',
    ['dist', 'sh', '-c', `if ${IS_STALE}; then exec "$0" scripts/build.mjs; fi`, process.execPath],
    {
      cwd: ROOT,
    },
  );
  return join(ROOT, 'dist/cpusetd.js');
}
