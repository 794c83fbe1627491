import { destination, pino, stdSerializers, stdTimeFunctions, type DestinationStream, type Logger } from 'pino';
import { showLines, showText } from '../core/show-text';
import type { Note } from '../core/transition';

const STDOUT = 1;
/** Characters that wait for a standard output which takes none, such as a file on a full disk. */
const MAX_UNWRITTEN = 1_048_576;

/** A field may quote somebody else, who may say anything at any length. */
const LONGEST_FIELD = 2_048;
const MOST_ITEMS = 100;
const DEEPEST = 4;

export interface LogOptions {
  readonly logLevel: string;
  readonly logFormat: 'json' | 'pretty';
  /** Where lines go instead of standard output, as a file descriptor. */
  readonly fd?: number;
}

/**
 * The daemon's log on standard output: one JSON object a line, or lines for people. Written at once, so that a
 * crash loses nothing of it. Texts in fields are shown as to people, and bounded: whoever reads a log does it in a terminal.
 * Logging never throws: a line that can't be made is left out; lines that can't be written wait until they can, up to a
 * bound, and what is beyond it is left out.
 */
export async function openLog({ logLevel, logFormat, fd = STDOUT }: LogOptions): Promise<Logger> {
  if (logFormat === 'json') {
    const stdout = destination({ dest: fd, sync: true, maxLength: MAX_UNWRITTEN });
    stdout.on('error', () => undefined);
    return createLog(logLevel, stdout);
  }
  const { PinoPretty } = await import('pino-pretty');
  return createLog(logLevel, PinoPretty({ destination: fd, sync: true, translateTime: 'SYS:HH:MM:ss.l' }));
}

function createLog(level: string, to: DestinationStream): Logger {
  const log = pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        log: (fields) => showFields(fields),
      },
      serializers: { err: showError },
      hooks: {
        logMethod: function (args, write) {
          try {
            write.apply(this, showMessage(args as unknown[]) as Parameters<typeof write>);
          } catch {
            // There is no other place to say it.
          }
        },
      },
    },
    to,
  );
  // What a child logger always says passes by the formatters.
  // eslint-disable-next-line @typescript-eslint/unbound-method -- is called with the logger whose child is made
  log.child = new Proxy(log.child, {
    apply: (child, of, [fields, ...rest]: [object, ...unknown[]]) =>
      Reflect.apply(child, of, [showFields(fields), ...rest]) as Logger,
  });
  return log;
}

/** An error alone would lend the line its message. */
function showMessage([first, ...rest]: readonly unknown[]): unknown[] {
  if (first instanceof Error && rest.length === 0) return [first, showText(first.message, LONGEST_FIELD)];
  return [first, ...rest].map((arg) => (typeof arg === 'string' ? showText(arg, LONGEST_FIELD) : arg));
}

function showFields(fields: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, value instanceof Error ? value : showValue(value, DEEPEST)]),
  );
}

/** What has a text of its own, such as a CPU set, is shown by it. */
function showValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return showText(value, LONGEST_FIELD);
  if (typeof value !== 'object' || value === null) return value;
  if ('toJSON' in value && typeof value.toJSON === 'function')
    return showValue((value as { toJSON(): unknown }).toJSON(), depth - 1);
  if (depth <= 0) return '…';
  if (Array.isArray(value)) return value.slice(0, MOST_ITEMS).map((item) => showValue(item, depth - 1));
  const entries = Object.entries(value instanceof Error ? stdSerializers.err(value) : value).slice(0, MOST_ITEMS);
  return Object.fromEntries(entries.map(([name, of]) => [showText(name, 100), showValue(of, depth - 1)]));
}

/** An error with its stack, whose lines stay lines. */
function showError(error: unknown): unknown {
  if (!(error instanceof Error)) return showValue(error, DEEPEST);
  const { stack, ...facts } = stdSerializers.err(error);
  const shown = showValue({ ...facts }, DEEPEST) as object;
  return { ...shown, ...(typeof stack === 'string' && { stack: showLines(stack, { maxLines: 40 }) }) };
}

/** Writes what was noted on the way to a decision: when its answer has left, since nobody should wait for it. */
export function writeNotes(log: Logger, notes: readonly Note[]): void {
  for (const { level, message, fields } of notes) log[level](fields, message);
}
