import { loadScript } from '../../support/load-script';
import type { Step, StepResult } from './types';

interface End {
  readonly status?: number;
  readonly trouble?: string;
  readonly results?: object;
  readonly isCi?: boolean;
}

let judgeStep: (step: Partial<Step>, end: End & { seconds: number }) => StepResult;
beforeAll(async () => {
  ({ judgeStep } = await loadScript<{ judgeStep: typeof judgeStep }>('test-run/judge-step.mjs'));
});

/** The results of a step with these parts, as they are read from its file. */
const own = (passed: number, failed: number, notRun: readonly object[] = [], rest: readonly string[] = []) => ({
  passed,
  failed,
  problems: Array.from({ length: failed }, (_, index) => `p${index}`),
  notRun,
  rest,
});
const missing = own(0, 0, [{ what: 'soak', tests: 1, why: 'root is needed' }]);
const endedBadly = { status: 1, trouble: 'exit status 1' };
const unprepared = { status: 2, trouble: 'exit status 2', results: missing };

test.each`
  name                                                  | counts       | end                                                               | want
  ${'a check that passes is no test'}                   | ${undefined} | ${{ status: 0 }}                                                  | ${'done 0 0 0: '}
  ${'a check that fails'}                               | ${undefined} | ${endedBadly}                                                     | ${'failed 0 1 0: exit status 1'}
  ${'one that is a test, and passes'}                   | ${'itself'}  | ${{ status: 0 }}                                                  | ${'done 1 0 0: '}
  ${'one that is a test, and fails'}                    | ${'itself'}  | ${endedBadly}                                                     | ${'failed 0 1 0: exit status 1'}
  ${'jest, all passed'}                                 | ${'jest'}    | ${{ status: 0, results: own(2, 0) }}                              | ${'done 2 0 0: '}
  ${'jest, one failed'}                                 | ${'jest'}    | ${{ ...endedBadly, results: own(1, 1) }}                          | ${'failed 1 1 0: p0'}
  ${'jest, status 0 in spite of a failed test'}         | ${'jest'}    | ${{ status: 0, results: own(0, 1) }}                              | ${'failed 0 1 0: p0'}
  ${'jest, a bad end without a failed test'}            | ${'jest'}    | ${{ ...endedBadly, results: own(1, 0) }}                          | ${'failed 1 1 0: exit status 1'}
  ${'jest, no results'}                                 | ${'jest'}    | ${{ ...endedBadly }}                                              | ${'failed 0 1 0: it wrote no results: exit status 1'}
  ${'jest, no results and status 0'}                    | ${'jest'}    | ${{ status: 0 }}                                                  | ${'failed 0 1 0: it wrote no results'}
  ${'jest, killed'}                                     | ${'jest'}    | ${{ trouble: 'ended by SIGKILL' }}                                | ${'failed 0 1 0: it wrote no results: ended by SIGKILL'}
  ${'a script with counts'}                             | ${'results'} | ${{ status: 0, results: own(3, 0) }}                              | ${'done 3 0 0: '}
  ${'a script with failures'}                           | ${'results'} | ${{ ...endedBadly, results: own(3, 2) }}                          | ${'failed 3 2 0: p0, p1'}
  ${'a script that died after it wrote its counts'}     | ${'results'} | ${{ trouble: 'no progress for 1 minutes', results: own(3, 0) }}   | ${'failed 3 1 0: no progress for 1 minutes'}
  ${'one that was cut between its parts'}               | ${'jest'}    | ${{ trouble: 'interrupted', results: own(7, 0, [], ['a', 'b']) }} | ${'failed 7 1 0: 2 parts did not end: interrupted'}
  ${'one that ended well without all its parts'}        | ${'jest'}    | ${{ status: 0, results: own(7, 0, [], ['a']) }}                   | ${'failed 7 1 0: 1 parts did not end'}
  ${'a script that wrote nothing'}                      | ${'results'} | ${{ status: 0 }}                                                  | ${'failed 0 1 0: it wrote no results'}
  ${'a missing prerequisite'}                           | ${'itself'}  | ${unprepared}                                                     | ${'not run 0 0 1: '}
  ${'a missing prerequisite in CI'}                     | ${'itself'}  | ${{ ...unprepared, isCi: true }}                                  | ${'failed 0 1 0: soak: root is needed'}
  ${'a missing prerequisite, with another exit status'} | ${'itself'}  | ${{ ...endedBadly, results: missing }}                            | ${'failed 0 1 1: exit status 1'}
  ${'exit status 2 without a word on what is missing'}  | ${'results'} | ${{ status: 2, trouble: 'exit status 2', results: own(0, 0) }}    | ${'failed 0 1 0: exit status 2'}
`('$name', ({ counts, end, want }: { counts?: 'jest'; end: End; want: string }) => {
  const step = { name: 's', ...(counts && { counts }) };
  const result = judgeStep(step, { seconds: 1, isCi: false, ...end });
  const skipped = result.notRun.reduce((sum, { tests }) => sum + tests, 0);
  expect(`${result.outcome} ${result.passed} ${result.failed} ${skipped}: ${result.problems.join(', ')}`).toBe(want);
});
