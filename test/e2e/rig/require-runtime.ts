import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { type Define, listAsNotRun, missing } from './missing';
import { projectRoot } from './project-root';

/** `trixie` and `sid` are Debian's containerd 1.7 and 2.x, `release` is a newer one: see scripts/runtime/README.md. */
export type Suite = 'trixie' | 'sid' | 'release';

const names: Readonly<Record<Suite, string>> = {
  trixie: 'the containerd of Debian trixie',
  sid: 'the containerd of Debian sid',
  release: 'a release of containerd',
};
const suites = Object.keys(names) as Suite[];

export const runtimeScripts = join(projectRoot(), 'scripts/runtime');
/** The exit status of suite.mjs where a release would have to be built and there is no Go. */
const statusNoGo = 3;

/**
 * `describe` for tests that need a real containerd of the suite. Where it can't be had, one loud line says why and the
 * tests are skipped; with CI=true they fail, unless it is only Go that is missing. Nothing is defined for suites that are
 * not in CPUSETD_SUITES (names with commas between; unset: all).
 *
 * The first call on a machine builds the suite (a root of Debian: about 20 s; a release: about three minutes); later ones
 * find it in the cache.
 */
export function requireRuntime(suite: Suite): Define {
  if (!listChosen(process.env['CPUSETD_SUITES']).includes(suite)) return () => undefined;
  const { status, why } = runScript('suite.mjs', suite);
  if (status === 0) return describe;
  return status === statusNoGo ? listAsNotRun(names[suite], why) : missing(names[suite], why);
}

/** The same tests on containerd 1.7, on 2.x and on a release. The title is that of the tests, without the runtime's name. */
export function onEachRuntime(title: string, tests: (suite: Suite) => void): void {
  for (const suite of suites) requireRuntime(suite)(`${title}, on ${names[suite]}`, () => tests(suite));
}

/** Whether the containerd of Debian sid can be told to create nothing without a certain NRI plugin; false where there is none. */
export function knowsRequiredPlugins(): boolean {
  return runScript('knows-required-plugins.mjs', 'sid').output === 'yes';
}

function listChosen(chosen: string | undefined): readonly Suite[] {
  if (chosen === undefined || chosen === '') return suites;
  const unknown = chosen.split(',').filter((name) => !(name in names));
  if (unknown.length > 0)
    throw new Error(`CPUSETD_SUITES has ${unknown.join(', ')}; there are ${suites.join(', ')}, with commas between`);
  return chosen.split(',') as Suite[];
}

interface Ended {
  readonly status: number | null;
  readonly output: string;
  /** Its last words. */
  readonly why: string;
}

function runScript(name: string, suite: Suite): Ended {
  const done = spawnSync(process.execPath, [join(runtimeScripts, name), suite], { encoding: 'utf8', timeout: 900_000 });
  const words = (done.stderr ?? '').trim().split('\n').at(-1);
  const why = words || (done.error?.message ?? `ended by ${done.signal ?? 'nobody'}`);
  return { status: done.status, output: (done.stdout ?? '').trim(), why };
}
