/**
 * Tests that can't run everywhere. The reason goes into the title of a group around them, where the last table of `npm
 * test` finds it (scripts/test-run/count-jest.mjs); a skip without a reason is counted there as a failure, and lint
 * forbids it.
 */

/**
 * Defines tests for one kind of machine or runtime. On another kind, in CI too, they are listed as not run.
 * @param obstacle why they can't run here; undefined when they can. It says where they run instead, if anywhere
 */
export function defineUnless(obstacle: string | undefined, define: () => void): void {
  if (obstacle === undefined) define();
  else describe.skip(`[not run: ${obstacle}]`, define);
}

/**
 * Defines tests with a prerequisite that every test machine should have, such as root. With CI=true they run all the
 * same, and fail.
 * @param obstacle why they can't run here; undefined when they can
 */
export function defineWithPrerequisite(obstacle: string | undefined, define: () => void): void {
  defineUnless(process.env['CI'] === 'true' ? undefined : obstacle, define);
}

/** Defines tests that mount file systems, or give files to other users. */
export function defineAsRoot(define: () => void): void {
  defineWithPrerequisite(process.getuid?.() === 0 ? undefined : 'root is needed', define);
}
