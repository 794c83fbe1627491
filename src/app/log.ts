import { destination, pino, stdTimeFunctions, type LogFn, type Logger } from 'pino';
import type { Note } from '../core/transition';

const STDOUT = 1;
/** Characters that wait for a standard output which takes none, such as a file on a full disk. */
const MAX_UNWRITTEN = 1_048_576;

/**
 * The daemon's log on standard output: one JSON object a line, or lines for people. Written at once, so that a
 * crash loses nothing of it. Logging never throws: a line that can't be made is left out; lines that can't be written
 * wait until they can, up to a bound, and what is beyond it is left out.
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
    hooks: {
      logMethod(this: Logger, args: Parameters<LogFn>, method: LogFn) {
        try {
          method.apply(this, args);
        } catch {
          // There is no other place to say it.
        }
      },
    },
  };
  if (logFormat === 'json') {
    const stdout = destination({ dest: STDOUT, sync: true, maxLength: MAX_UNWRITTEN });
    stdout.on('error', () => undefined);
    return pino(options, stdout);
  }
  const { PinoPretty } = await import('pino-pretty');
  return pino(options, PinoPretty({ destination: STDOUT, sync: true, translateTime: 'SYS:HH:MM:ss.l' }));
}

/** Writes what was noted on the way to a decision: when its answer has left, since nobody should wait for it. */
export function writeNotes(log: Logger, notes: readonly Note[]): void {
  for (const { level, message, fields } of notes) log[level](fields, message);
}
