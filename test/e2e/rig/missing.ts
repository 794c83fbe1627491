/** `describe` for tests whose prerequisite can't be had: skipped after one loud line, or an error with CI=true. */
export function missing(what: string, why: string): jest.Describe {
  if (process.env.CI === 'true') throw new Error(`these tests need ${what}: ${why}`);
  process.stderr.write(`\n*** SKIPPED: tests against ${what}: ${why}\n\n`);
  return describe.skip;
}
