import { explainFailureOf, toCallError, toErrorCode } from '../../src/net/grpc-error';
import { StatusCode } from '../../src/wire';

test('each status number of gRPC gives its name', () => {
  for (const [name, code] of Object.entries(StatusCode)) if (code !== 0) expect(toErrorCode(code)).toBe(name);
});

test.each([0, 17, -1, 1.5, undefined, '5'])('%p, which is no error of gRPC, gives UNKNOWN', (code) => {
  expect(toErrorCode(code)).toBe('UNKNOWN');
});

test.each`
  name                                     | code  | details                 | timeoutMs    | message
  ${'a deadline that the library noticed'} | ${4}  | ${'Deadline exceeded…'} | ${2_500}     | ${'the peer did not answer Ask within 2.5 s'}
  ${'a deadline that the peer noticed'}    | ${4}  | ${'too slow'}           | ${2_500}     | ${'the peer answered Ask with DEADLINE_EXCEEDED: too slow'}
  ${'a deadline of a call without a time'} | ${4}  | ${'Deadline exceeded'}  | ${undefined} | ${'the peer answered Ask with DEADLINE_EXCEEDED: Deadline exceeded'}
  ${'a peer that is away'}                 | ${14} | ${'no connection'}      | ${1_000}     | ${'the peer could not be asked Ask: no connection'}
  ${'a status of the peer'}                | ${5}  | ${'no such pod'}        | ${1_000}     | ${'the peer answered Ask with NOT_FOUND: no such pod'}
  ${'a status without a text'}             | ${5}  | ${''}                   | ${1_000}     | ${'the peer answered Ask with NOT_FOUND: no details given'}
  ${'a rejection that is no status'}       | ${{}} | ${undefined}            | ${1_000}     | ${'the peer answered Ask with UNKNOWN: no details given'}
`('the message for $name names peer, method and status', ({ code, details, timeoutMs, message }: Row) => {
  const call = { method: 'Ask', ...(timeoutMs !== undefined && { timeoutMs }) };
  expect(toCallError({ code, details }, call, explainFailureOf('the peer')).message).toBe(message);
});

interface Row {
  readonly code: unknown;
  readonly details: unknown;
  readonly timeoutMs: number | undefined;
  readonly message: string;
}
