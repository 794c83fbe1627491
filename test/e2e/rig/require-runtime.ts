import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { readChosenNames } from '../../support/chosen-names';
import { type Define, listAsNotRun, missing } from './missing';
import { projectRoot } from './project-root';

/**
 * `trixie` and `sid` are Debian's containerd 1.7 and 2.x, `release` is a newer one, `crio` is CRI-O: see
 * scripts/runtime/README.md.
 */
export type Suite = 'trixie' | 'sid' | 'release' | 'crio';

/** The names of the runtimes in titles of tests. */
export const runtimeNames: Readonly<Record<Suite, string>> = {
  trixie: 'the containerd of Debian trixie',
  sid: 'the containerd of Debian sid',
  release: 'a release of containerd',
  crio: 'CRI-O',
};
const suites = Object.keys(runtimeNames) as Suite[];

/** The runtime of tests whose claim depends on no runtime: scripts/test-run/e2e-files.mjs says which claims do. */
export const oneRuntime = 'sid' satisfies Suite;

/** The exit status of suite.mjs when a runtime has to be built and this machine cannot. */
const statusCannotBuild = 3;

/**
 * `describe` for tests that need the real runtime of the suite. Without one, a line on stderr says why and the tests
 * are skipped; with CI=true they fail, unless only Go or the way to its modules is missing. Nothing is defined for
 * suites that are not in CPUSETD_SUITES (names with commas between; unset: all).
 *
 * The first call on a machine builds the suite (a root of Debian: about 20 s; a release or CRI-O: about three minutes);
 * later ones find it in the cache.
 */
export function requireRuntime(suite: Suite): Define {
  if (readChosenNames('CPUSETD_SUITES', suites)?.includes(suite) === false) return () => undefined;
  const { status, why } = runScript('suite.mjs', suite);
  if (status === 0) return describe;
  return status === statusCannotBuild ? listAsNotRun(runtimeNames[suite], why) : missing(runtimeNames[suite], why);
}

/**
 * Defines the same tests on containerd 1.7, on 2.x, on a release and on CRI-O. The name of the runtime is added to the
 * title.
 */
export function onEachRuntime(title: string, tests: (suite: Suite) => void): void {
  onRuntimes(suites, title, tests);
}

/** Defines the same tests on each of these runtimes. The name of the runtime is added to the title. */
export function onRuntimes(these: readonly Suite[], title: string, tests: (suite: Suite) => void): void {
  for (const suite of these) requireRuntime(suite)(`${title}, on ${runtimeNames[suite]}`, () => tests(suite));
}

/**
 * Defines tests inside of `onEachRuntime` or `onRuntimes` whose claim does not depend on the runtime: on one runtime
 * only.
 */
export function defineOnce(suite: Suite, tests: () => void): void {
  if (suite === oneRuntime) tests();
}

/** True when the containerd of Debian sid has the setting for required NRI plugins; false without such a containerd. */
export function knowsRequiredPlugins(): boolean {
  return runScript('knows-required-plugins.mjs', 'sid').output === 'yes';
}

interface Ended {
  readonly status: number | null;
  readonly output: string;
  /** The last line of its standard error. */
  readonly why: string;
}

function runScript(name: string, suite: Suite): Ended {
  const script = join(projectRoot(), 'scripts/runtime', name);
  const done = spawnSync(process.execPath, [script, suite], { encoding: 'utf8', timeout: 900_000 });
  const words = (done.stderr ?? '').trim().split('\n').at(-1);
  const why = words || (done.error?.message ?? `ended by signal ${String(done.signal)}`);
  return { status: done.status, output: (done.stdout ?? '').trim(), why };
}
