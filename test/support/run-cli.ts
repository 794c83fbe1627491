import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pino } from 'pino';

import { runCli } from '../../src/cli/program';

export interface CliRun {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a command line in this process, with nothing in the environment and in `/etc` but what is given. `onPrinted`
 * gets what is printed at once. `columns` of a terminal; without it the output is a pipe.
 */
export async function runInProcess(
  args: readonly string[],
  {
    input = '',
    env = {},
    etcRoot = '/nonexistent',
    signal = new AbortController().signal,
    columns,
    onPrinted,
  }: {
    input?: string;
    env?: Record<string, string>;
    etcRoot?: string;
    signal?: AbortSignal;
    columns?: number | undefined;
    onPrinted?: (text: string) => void;
  } = {},
): Promise<CliRun> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const printed = Promise.all([text(stdout), text(stderr)]);
  if (onPrinted) stdout.on('data', (chunk: Buffer | string) => onPrinted(String(chunk)));
  const status = await runCli(args, {
    stdin: Readable.from([input]),
    stdout: columns === undefined ? stdout : Object.assign(stdout, { isTTY: true, columns, rows: 40 }),
    stderr,
    env,
    etcRoot,
    signal,
    version: '0.0.0',
    runDaemon: () => Promise.reject(new Error('no daemon here')),
    openLog: () => Promise.resolve(pino({ level: 'silent' })),
  });
  stdout.end();
  stderr.end();
  const [out, err] = await printed;
  return { status, stdout: out, stderr: err };
}
