import type { Writable } from 'node:stream';

import type { Config, PlaceOf } from '../app/config';

/** What a command works with. */
export interface CliContext {
  readonly stdin: NodeJS.ReadableStream;
  readonly stdout: Writable & { readonly isTTY?: boolean };
  readonly stderr: Writable;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborts when the user or the system wants the process to end. */
  readonly signal: AbortSignal;
  readonly version: string;
  /** Runs until the signal aborts. */
  readonly runDaemon: (
    loaded: { readonly config: Config; readonly placeOf: PlaceOf },
    signal: AbortSignal,
  ) => Promise<void>;
}

/** 0 fine, 1 the command's answer is no, 2 wrong usage. */
export type ExitStatus = 0 | 1 | 2;

/** A command was used wrongly. The message names the input, the rule and the remedy, a line for each fault. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Writes, and waits when the reader is slower than we are. */
export async function write(out: Writable, text: string): Promise<void> {
  if (out.write(text)) return;
  await new Promise<void>((resolve) => out.once('drain', resolve));
}
