import { defineUnless } from '../../support/not-run';

/** Defines a group of tests. */
export type Define = (title: string, tests: () => void) => void;

/** Lists tests without their prerequisite as not run, and prints one line on stderr. With CI=true it throws. */
export function missing(what: string, why: string): Define {
  if (process.env.CI === 'true') throw new Error(`these tests need ${what}: ${why}`);
  return listAsNotRun(what, why);
}

/** Lists tests without an optional prerequisite as not run, and prints one line on stderr. */
export function listAsNotRun(what: string, why: string): Define {
  process.stderr.write(`\n*** SKIPPED: tests against ${what}: ${why}\n\n`);
  return (title, tests) => defineUnless(why, () => describe(title, tests));
}
