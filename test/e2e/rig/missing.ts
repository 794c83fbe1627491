import { defineUnless } from '../../support/not-run';

/** Defines a group of tests. */
export type Define = (title: string, tests: () => void) => void;

/** For tests whose prerequisite can't be had: they are listed as not run, after one loud line; with CI=true an error. */
export function missing(what: string, why: string): Define {
  if (process.env.CI === 'true') throw new Error(`these tests need ${what}: ${why}`);
  return listAsNotRun(what, why);
}

/** For tests whose prerequisite a machine for tests need not have: they are listed as not run, after one loud line. */
export function listAsNotRun(what: string, why: string): Define {
  process.stderr.write(`\n*** SKIPPED: tests against ${what}: ${why}\n\n`);
  return (title, tests) => defineUnless(why, () => describe(title, tests));
}
