import { describeSocketError } from '../../src/wire/socket-channel';

const errorWith = (code: string) => Object.assign(new Error('text of Node'), { code });

test.each(['ECONNRESET', 'EPIPE', 'ECONNABORTED'])('%s means that the peer has closed', (code) => {
  const error = errorWith(code);
  expect(describeSocketError(error)).toEqual({ by: 'peer', because: `the peer went away (${code})`, cause: error });
});

test.each([
  ['another code', errorWith('EBADF'), 'the socket failed (EBADF)'],
  ['an error without a code', new TypeError('no code'), 'the socket failed (TypeError)'],
])('%s is a fault', (_name, error, because) => {
  expect(describeSocketError(error)).toEqual({ by: 'fault', because, cause: error });
});
