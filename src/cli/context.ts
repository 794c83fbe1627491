import type { Writable } from 'node:stream';
import type { Logger } from 'pino';

import type { LogOptions } from '../app/log';
import type { Loaded } from '../app/config';
import { showText } from '../core/show-text';

/** The environment of a command. */
export interface CliContext {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean; setRawMode?(isRaw: boolean): unknown };
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };
  readonly stderr: Writable;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder of the node's configuration: `/etc`. */
  readonly etcRoot: string;
  /** Aborts when the user or the system wants the process to end. */
  readonly signal: AbortSignal;
  readonly version: string;
  /** Runs until the signal aborts. */
  readonly runDaemon: (loaded: Loaded, signal: AbortSignal) => Promise<void>;
  /** Opens the log of a command that runs until the signal aborts. Unexpected errors are logged there too. */
  readonly openLog: (options: Pick<LogOptions, 'logLevel' | 'logFormat'>) => Promise<Logger>;
}

/** 0 = fine, 1 = the command's answer is no, 2 = wrong usage. */
export type ExitStatus = 0 | 1 | 2;

/** A command was used wrongly. The message names the input, the rule and the remedy, a line for each fault. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly faults: readonly string[];

  constructor(...faults: readonly string[]) {
    super(faults.join('\n'));
    this.faults = faults;
  }
}

/** Longest message, since it may quote a value of any length. */
const MAX_COMPLAINT_LENGTH = 4_096;

/** Prints the faults, each on a line. */
export function complain(stderr: Writable, ...faults: readonly string[]): void {
  for (const fault of faults) stderr.write(`cpusetd: ${showText(fault, MAX_COMPLAINT_LENGTH)}\n`);
}

/** Writes, and waits for a reader that is slower. */
export async function write(out: Writable, content: string | Uint8Array): Promise<void> {
  if (out.write(content)) return;
  await new Promise<void>((resolve) => out.once('drain', resolve));
}
