import { meaningOf, systemCodeOf } from '../../src/core/system-errors';

test('one code has the meaning of the operation that failed', () => {
  expect(meaningOf('watch a file', 'ENOSPC')).toBe('raise fs.inotify.max_user_watches');
  expect(meaningOf('listen on a unix socket', 'ENOSPC')).toBe('no space left on the device');
});

test.each(['EXDEV', ''])('the code "%s" has no meaning of its own', (code) => {
  expect(meaningOf('read a file', code)).toBeUndefined();
});

test.each`
  name                        | error                                                | code
  ${'an error of the system'} | ${Object.assign(new Error('x'), { code: 'EACCES' })} | ${'EACCES'}
  ${'a status of gRPC'}       | ${Object.assign(new Error('x'), { code: 14 })}       | ${undefined}
  ${'a plain error'}          | ${new Error('x')}                                    | ${undefined}
  ${'nothing'}                | ${undefined}                                         | ${undefined}
`('the code of $name is $code', ({ error, code }: { error: unknown; code: string | undefined }) => {
  expect(systemCodeOf(error)).toBe(code);
});
