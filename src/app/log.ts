import { destination, pino, stdTimeFunctions, type Logger } from 'pino';
import type { Note } from '../core/transition';

const STDOUT = 1;

/**
 * The daemon's log on standard output: one JSON object a line, or lines for people. Written at once, so that a
 * crash loses nothing of it.
 */
export async function openLog({
  logLevel,
  logFormat,
}: {
  readonly logLevel: string;
  readonly logFormat: 'json' | 'pretty';
}): Promise<Logger> {
  const options = {
    level: logLevel,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  if (logFormat === 'json') return pino(options, destination({ dest: STDOUT, sync: true }));
  const { PinoPretty } = await import('pino-pretty');
  return pino(options, PinoPretty({ destination: STDOUT, sync: true, translateTime: 'SYS:HH:MM:ss.l' }));
}

/** Writes what was noted on the way to a decision: when its answer has left, since nobody should wait for it. */
export function writeNotes(log: Logger, notes: readonly Note[]): void {
  for (const { level, message, fields } of notes) log[level](fields, message);
}
