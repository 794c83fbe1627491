import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { type Define, missing } from './missing';
import { projectRoot } from './project-root';

const suites = ['trixie', 'sid'] as const;

/** Debian suites: `trixie` has containerd 1.7, `sid` 2.x. */
export type Suite = (typeof suites)[number];

export const runtimeScripts = join(projectRoot(), 'scripts/runtime');

/**
 * `describe` for tests that need a real containerd of the suite. Where it can't be had, one loud line says why and the
 * tests are skipped; with CI=true they fail.
 *
 * The first call on a machine builds the suite's root (about 20 s); later ones find it in the cache.
 */
export function requireRuntime(suite: Suite): Define {
  const { status, why } = runScript('debian-root.mjs', suite);
  return status === 0 ? describe : missing(`the containerd of Debian ${suite}`, why);
}

/** The same tests on containerd 1.7 and on 2.x. The title is that of the tests, without the runtime's name. */
export function onEachRuntime(title: string, tests: (suite: Suite) => void): void {
  for (const suite of suites)
    requireRuntime(suite)(`${title}, on the containerd of Debian ${suite}`, () => tests(suite));
}

/**
 * Why the suite's containerd can't be told to create nothing without a certain NRI plugin; undefined when it can. No Debian
 * suite has one that can, CPUSETD_CONTAINERD may name one.
 */
export function findWhyNoRequiredPlugin(suite: Suite): string | undefined {
  const { status, why } = runScript('knows-required-plugins.mjs', suite);
  if (status === 0) return undefined;
  if (status === 3) return why;
  throw new Error(why);
}

/** @returns why: its last words */
function runScript(name: string, suite: Suite): { readonly status: number | null; readonly why: string } {
  const done = spawnSync(process.execPath, [join(runtimeScripts, name), suite], { encoding: 'utf8', timeout: 900_000 });
  const why = (done.stderr ?? '').trim() || (done.error?.message ?? `ended by ${done.signal ?? 'nobody'}`);
  return { status: done.status, why };
}
