import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { missing } from './missing';
import { projectRoot } from './project-root';

/** Debian suites: `trixie` has containerd 1.7, `sid` 2.x. */
export type Suite = 'trixie' | 'sid';

export const runtimeScripts = join(projectRoot(), 'scripts/runtime');

/**
 * `describe` for tests that need a real containerd of the suite. Where it can't be had, one loud line says why and the
 * tests are skipped; with CI=true they fail.
 *
 * The first call on a machine builds the suite's root (about 20 s); later ones find it in the cache.
 */
export function requireRuntime(suite: Suite): jest.Describe {
  const built = spawnSync(process.execPath, [join(runtimeScripts, 'debian-root.mjs'), suite], {
    encoding: 'utf8',
    timeout: 900_000,
  });
  if (built.status === 0) return describe;
  const why = (built.stderr ?? '').trim() || (built.error?.message ?? `ended by ${built.signal ?? 'nobody'}`);
  return missing(`the containerd of Debian ${suite}`, why);
}
