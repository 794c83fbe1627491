import { explainCriError } from '../../../src/app/runtime/explain-cri-error';
import { CpusetdError, type ErrorCode } from '../../../src/core/errors';

test.each`
  code                     | message                                 | want
  ${'UNAVAILABLE'}         | ${'connect ENOENT /run/cri.sock'}       | ${/^there is no socket at \/run\/cri.sock; start the runtime, or set --cri-endpoint/}
  ${'UNAVAILABLE'}         | ${'connect ENOTDIR /run/cri.sock'}      | ${/^there is no socket at/}
  ${'UNAVAILABLE'}         | ${'connect ECONNREFUSED /run/cri.sock'} | ${/is there and nobody listens on it; start the runtime$/}
  ${'UNAVAILABLE'}         | ${'connect EACCES /run/cri.sock'}       | ${/^cpusetd may not open \/run\/cri.sock \(EACCES\); run it as root/}
  ${'UNAVAILABLE'}         | ${'connect EPROTOTYPE /run/cri.sock'}   | ${/is no stream socket; set --cri-endpoint/}
  ${'UNAVAILABLE'}         | ${'read ECONNRESET'}                    | ${/was lost or could not be made; check that the runtime runs$/}
  ${'UNAVAILABLE'}         | ${'a text that has MYENOENT in a word'} | ${/was lost or could not be made/}
  ${'DEADLINE_EXCEEDED'}   | ${'no answer within 5 s'}               | ${/^no answer within 5 s: \/run\/cri.sock takes connections.*hangs or is overloaded/}
  ${'UNIMPLEMENTED'}       | ${'unknown service runtime.v1'}         | ${/serves no CRI: set --cri-endpoint/}
  ${'FAILED_PRECONDITION'} | ${'the runtime is not ready'}           | ${/^the runtime is not ready; look at the log of the runtime$/}
`(
  'given $code "$message" the text names the remedy',
  ({ code, message, want }: { code: ErrorCode; message: string; want: RegExp }) => {
    expect(explainCriError('unix:///run/cri.sock', new CpusetdError(code, message))).toMatch(want);
  },
);

test('two errors of the same case with different details give the same text', () => {
  const explain = (message: string) => explainCriError('/run/cri.sock', new CpusetdError('UNAVAILABLE', message));
  expect(explain('connect ENOENT: attempt 1')).toBe(explain('connect ENOENT: attempt 2'));
});
