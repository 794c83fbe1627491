import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

import { builtBundle } from '../support/built-bundle';
import type { CliRun } from '../support/run-cli';

/** Runs the bundle in a process of its own, with nothing in the environment but what is given. */
export function runBundle(args: readonly string[], input = '', env: Record<string, string> = {}): Promise<CliRun> {
  const child = spawn(process.execPath, [builtBundle(), ...args], { env, stdio: 'pipe' });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  child.stdin.on('error', () => undefined).end(input);
  return new Promise((resolve) => child.on('close', (status) => resolve({ status: status ?? -1, stdout, stderr })));
}

export interface WatchingProcess {
  readonly nextLine: () => Promise<unknown>;
  readonly kill: (signal: NodeJS.Signals) => void;
  /** The exit status and the standard error of the process that has ended. */
  readonly ended: Promise<{ readonly status: number | null; readonly stderr: string }>;
}

/** Starts the bundle with a command that prints lines until it is stopped. */
export function startBundle(args: readonly string[]): WatchingProcess {
  const child = spawn(process.execPath, [builtBundle(), ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    nextLine: async () => (await lines.next()).value as unknown,
    kill: (signal) => void child.kill(signal),
    ended: new Promise((resolve) => child.on('close', (status) => resolve({ status, stderr }))),
  };
}
