import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';

import type { Config } from '../../../src/app/config';
import { runCli } from '../../../src/cli/program';
import { CpusetdError } from '../../../src/core/errors';

/** Runs `cpusetd run` with a daemon that only records its configuration. */
async function run(args: readonly string[], { env = {}, error }: { env?: Record<string, string>; error?: Error } = {}) {
  const started: Config[] = [];
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const printed = text(stderr);
  const status = await runCli(['run', ...args], {
    stdin,
    stdout,
    stderr,
    env,
    etcRoot: '/nonexistent',
    signal: new AbortController().signal,
    version: '0.0.0',
    runDaemon: ({ config }) => {
      started.push(config);
      return error ? Promise.reject(error) : Promise.resolve();
    },
    openLog: () => Promise.reject(new Error('the daemon opens its log itself')),
  });
  stderr.end();
  return { status, started, stderr: await printed };
}

test('the daemon gets the configuration of flags and variables', async () => {
  const { status, started } = await run(['--reserved-cpus', '0-1'], { env: { CPUSETD_LOG_LEVEL: 'warn' } });
  expect(status).toBe(0);
  expect(started).toMatchObject([{ logLevel: 'warn' }]);
  expect(started[0]!.reservedCpus?.toString()).toBe('0-1');
});

test('a wrong option is exit 2, and no daemon starts', async () => {
  const { status, started, stderr } = await run(['--reserved-cpus', '0', '--mode', 'x']);
  expect([status, started]).toEqual([2, []]);
  expect(stderr).toMatch(/^cpusetd: --mode: "x" is not a known value/);
});

test.each([
  ['an invalid argument is exit 2', new CpusetdError('INVALID_ARGUMENT', 'two sockets are one'), 2],
  ['any other known error is exit 1', new CpusetdError('FAILED_PRECONDITION', 'the node is locked'), 1],
])('a daemon that ends with an error: %s, with the message', async (_name, error, want) => {
  const { status, stderr } = await run(['--reserved-cpus', '0'], { error });
  expect([status, stderr]).toEqual([want, `cpusetd: ${error.message}\n`]);
});
