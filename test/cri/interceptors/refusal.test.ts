import { CpusetdError } from '../../../src/core/errors';
import { concludeUnread, passOn, refusalOf, refuse } from '../../../src/cri/interceptors/refusal';
import type { DaemonPort } from '../../../src/cri/interceptors/daemon-port';

type Concluded = Parameters<DaemonPort['conclude']>[0];
let concluded: Concluded[];
beforeEach(() => (concluded = []));

const daemon = { conclude: (end: Concluded) => void concluded.push(end) };
const asked = { event: 'update-container' } as const;
const { signal: running } = new AbortController();

test.each`
  name                                                                 | code                     | sent  | counted
  ${'a code that a caller may get is sent and counted as it is'}       | ${'FAILED_PRECONDITION'} | ${9}  | ${'FAILED_PRECONDITION'}
  ${'CANCELLED is sent, and counted as INTERNAL'}                      | ${'CANCELLED'}           | ${1}  | ${'INTERNAL'}
  ${'NOT_FOUND, which means a missing container, is sent as INTERNAL'} | ${'NOT_FOUND'}           | ${13} | ${'INTERNAL'}
`('$name', ({ code, sent, counted }) => {
  const { refuse: error } = refuse(daemon, asked, running, { code, message: 'no', problem: 'EIO' });
  expect(error).toEqual({ code: sent, message: 'no', reason: code });
  expect(concluded).toEqual([{ ...asked, answer: { kind: 'refuse', code: counted, message: 'no' }, problem: 'EIO' }]);
});

test('a refusal with a reason of its own is sent with that reason', () => {
  const refused = refuse(daemon, asked, running, { code: 'UNAVAILABLE', message: 'no', reason: 'NOT_SYNCHRONIZED' });
  expect(refused.refuse.reason).toBe('NOT_SYNCHRONIZED');
});

test('a call that has already ended is refused and not counted', () => {
  refuse(daemon, asked, AbortSignal.abort(), { code: 'UNAVAILABLE', message: 'no' });
  expect(concluded).toEqual([]);
});

test('a refusal of the core is sent with its code and text', () => {
  expect(passOn({ kind: 'refuse', code: 'RESOURCE_EXHAUSTED', message: 'full' })).toEqual({
    refuse: { code: 8, message: 'full', reason: 'RESOURCE_EXHAUSTED' },
  });
});

test('given an unknown error, the refusal does not have its text', () => {
  expect(refusalOf(new CpusetdError('UNAVAILABLE', 'ours'))).toEqual({ code: 'UNAVAILABLE', message: 'ours' });
  expect(refusalOf(new TypeError('secret'))).toEqual({
    code: 'INTERNAL',
    message: expect.not.stringContaining('secret'),
  });
});

test.each`
  name                                          | end                                                | want
  ${'too much in flight'}                       | ${{ origin: 'proxy', forwarded: false, code: 8 }}  | ${['RESOURCE_EXHAUSTED']}
  ${'a broken request'}                         | ${{ origin: 'proxy', forwarded: false, code: 13 }} | ${['INTERNAL']}
  ${'the runtime is away, which is no refusal'} | ${{ origin: 'proxy', forwarded: false, code: 14 }} | ${[]}
  ${'the caller gave up, which is no refusal'}  | ${{ origin: 'caller', forwarded: false, code: 1 }} | ${[]}
  ${'it was forwarded, which is no refusal'}    | ${{ origin: 'proxy', forwarded: true, code: 13 }}  | ${[]}
`('a call that ended unread: $name', ({ end, want }) => {
  const { origin, forwarded, code } = end as { origin: 'proxy' | 'caller'; forwarded: boolean; code: number };
  concludeUnread(daemon, 'create-container', { origin, forwarded, status: { code, message: 'm' } });
  expect(concluded.map(({ answer }) => 'code' in answer && answer.code)).toEqual(want);
});
