import {
  absolutePath,
  durationMs,
  hostNames,
  hostPort,
  localHostPort,
  listenSocket,
  socketPath,
} from '../../src/option-types/system-types';

const duration = durationMs({ minMs: 100, maxMs: 3_600_000 });

test.each<[string, { ok: boolean }, unknown]>([
  ['1m30s', duration.parse('1m30s'), 90_000],
  ['0.5s', duration.parse('0.5s'), 500],
  ['/a/b//', absolutePath.parse('/a/b//'), '/a/b'],
  ['/', absolutePath.parse('/'), '/'],
  ['unix:///a.sock', socketPath.parse('unix:///a.sock'), '/a.sock'],
  ['fd:3', listenSocket.parse('fd:3'), { fd: 3 }],
  ['/a.sock', listenSocket.parse('/a.sock'), { path: '/a.sock' }],
  ['14710', localHostPort.parse('14710'), { host: '127.0.0.1', port: 14710 }],
  [':14710', localHostPort.parse(':14710'), { host: '127.0.0.1', port: 14710 }],
  ['0.0.0.0:14710', localHostPort.parse('0.0.0.0:14710'), { host: '0.0.0.0', port: 14710 }],
  ['names', hostNames.parse('Node-1.example.org, ::1,192.0.2.7'), ['node-1.example.org', '::1', '192.0.2.7']],
  ['no names', hostNames.parse(''), []],
  ['[::1]:80', hostPort.parse('[::1]:80'), { host: '::1', port: 80 }],
  ['localhost:80', hostPort.parse('localhost:80'), { host: 'localhost', port: 80 }],
])('%s is accepted', (_text, parsed, value) => {
  expect(parsed).toEqual({ ok: true, value });
});

test.each<[string, { ok: boolean }, string]>([
  ['10', duration.parse('10'), 'is not a duration'],
  ['99ms', duration.parse('99ms'), 'is too short'],
  ['2h', duration.parse('2h'), 'is too long'],
  ['a/b', absolutePath.parse('a/b'), 'is not an absolute path'],
  ['/a\\n', absolutePath.parse('/a\n'), 'has a control character'],
  ['a path of 200 bytes', socketPath.parse(`/${'x'.repeat(200)}`), 'is too long for a socket'],
  ['fd:2', listenSocket.parse('fd:2'), 'is in use'],
  [':80', hostPort.parse(':80'), 'is not an address with a port'],
  ['a:65536', hostPort.parse('a:65536'), 'has a port above 65535'],
])('%s is rejected', (_text, parsed, problem) => {
  expect(parsed).toMatchObject({ ok: false, problem });
});
