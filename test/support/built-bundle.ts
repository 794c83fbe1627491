import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(__dirname, '../..');

/**
 * The path of dist/cpusetd.js. It is built first when a source is newer; jest's workers take turns, so it is built
 * once.
 */
export function builtBundle(): string {
  execFileSync(process.execPath, ['scripts/build.mjs', '--if-stale'], { cwd: ROOT });
  return join(ROOT, 'dist/cpusetd.js');
}
