import { type Command } from 'commander';
import { PassThrough } from 'node:stream';
import { pino } from 'pino';
import { createProgram } from '../../src/cli/program';

/**
 * The commands of the command line, for tests that look at them or parse lines. It has no daemon, and what it prints is
 * lost.
 */
export function createIdleProgram(): Command {
  const context = {
    stdin: new PassThrough(),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    env: {},
    etcRoot: '/nonexistent',
    signal: new AbortController().signal,
    version: '0.0.0',
    runDaemon: () => Promise.reject(new Error('no daemon here')),
    openLog: () => Promise.resolve(pino({ level: 'silent' })),
  };
  return createProgram(context, () => undefined);
}
