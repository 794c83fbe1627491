import { resolve } from 'node:path';
import { Command } from 'commander';

import { createAdminSocketOption } from '../../../src/cli/options/node-options';

/** The parsed value of --admin-socket. */
function parse(...args: string[]): unknown {
  const command = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  return command.addOption(createAdminSocketOption()).parse(args, { from: 'user' }).opts()['adminSocket'];
}

// The default of the host: no command connects to it here.
beforeEach(() => {
  delete process.env['CPUSETD_ADMIN_SOCKET'];
});

test.each([
  ['no option', [], '/run/cpusetd/cpusetd.sock'],
  ['an absolute path', ['--admin-socket', '/x/a.sock'], '/x/a.sock'],
  ['a URL', ['--admin-socket', 'unix:///x/a.sock'], '/x/a.sock'],
  ['a relative path', ['--admin-socket', 'a.sock'], resolve('a.sock')],
])('%s is a path', (_name, args, path) => {
  expect(parse(...args)).toBe(path);
});

test.each([
  ['an empty path', '', /is not an absolute path/],
  ['a path above the limit of sockets', `/${'x'.repeat(200)}`, /is too long for a socket/],
])('%s is an error', (_name, text, message) => {
  expect(() => parse('--admin-socket', text)).toThrow(message);
});
