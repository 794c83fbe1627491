import { destination, pino, stdSerializers, stdTimeFunctions, type DestinationStream, type Logger } from 'pino';
import { showLines, showText } from '../core/show-text';

/**
 * Bytes that wait for a standard output which takes none, such as a file on a full disk or a pipe whose reader has
 * stopped.
 */
const MAX_UNWRITTEN = 1_048_576;
const TRY_AGAIN_MS = 1_000;

type Output = ReturnType<typeof destination>;

/** Bounds of a field: it may quote a peer, with any text of any length. */
const LONGEST_FIELD = 2_048;
const MOST_ITEMS = 100;
const DEEPEST = 4;

export interface LogOptions {
  readonly logLevel: string;
  readonly logFormat: 'json' | 'pretty';
  /** The file descriptor that lines go to instead of standard output. */
  readonly fd?: number;
}

/**
 * The daemon's log on standard output: one JSON object a line, or readable lines. Written at once, so that a crash
 * loses nothing of it. Texts in fields are escaped and bounded, since logs are read in terminals. Logging never throws
 * and never waits: a line that can't be made is left out; lines that can't be written are kept until they can, up to a
 * bound, and what is beyond it is left out and counted. That it never waits for a reader depends on Node, which makes a
 * pipe or a socket non-blocking when `process.stdout` is first asked for.
 */
export async function openLog({ logLevel, logFormat, fd = process.stdout.fd }: LogOptions): Promise<Logger> {
  const output = destination({ dest: fd, sync: true, maxLength: MAX_UNWRITTEN, retryEAGAIN: () => false });
  keepTrying(output);
  const log = createLog(logLevel, logFormat === 'json' ? output : await prettyOn(output));
  countLost(output, log);
  return log;
}

/**
 * Readable lines. This is a function rather than pino-pretty's stream, which keeps any number of lines for an output
 * that takes none.
 */
async function prettyOn(output: DestinationStream): Promise<DestinationStream> {
  const { prettyFactory } = await import('pino-pretty');
  const pretty = prettyFactory({ translateTime: 'SYS:HH:MM:ss.l' });
  return { write: (line) => output.write(pretty(line)) };
}

/**
 * Lines that the output did not take are offered again after a pause: the next line may be long in coming, or itself be
 * left out.
 */
function keepTrying(output: Output): void {
  let timer: NodeJS.Timeout | undefined;
  const tryAgain = (): void => {
    timer = undefined;
    output.write('');
  };
  output.on('error', () => (timer ??= setTimeout(tryAgain, TRY_AGAIN_MS).unref()));
}

/** The number of lines that were left out is logged when the output has taken what was kept. */
function countLost(output: Output, log: Logger): void {
  let lost = 0;
  const report = (): void => {
    const before = lost;
    lost = 0;
    log.warn({ lines: before }, 'lines of this log were left out: the output took none');
    if (lost > 0) lost = before;
  };
  output.on('drop', () => {
    if (lost === 0) output.once('drain', report);
    lost += 1;
  });
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
  // The formatters do not see the fields of a child logger.
  // eslint-disable-next-line @typescript-eslint/unbound-method -- is called with the logger whose child is made
  log.child = new Proxy(log.child, {
    apply: (child, thisArg, [fields, ...rest]: [object, ...unknown[]]) =>
      Reflect.apply(child, thisArg, [showFields(fields), ...rest]) as Logger,
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

/** A value with a text of its own, such as a CPU set, is shown by it. */
function showValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return showText(value, LONGEST_FIELD);
  if (typeof value !== 'object' || value === null) return value;
  if ('toJSON' in value && typeof value.toJSON === 'function')
    return showValue((value as { toJSON(): unknown }).toJSON(), depth - 1);
  if (depth <= 0) return '…';
  if (Array.isArray(value)) return value.slice(0, MOST_ITEMS).map((item) => showValue(item, depth - 1));
  const entries = Object.entries(value instanceof Error ? stdSerializers.err(value) : value).slice(0, MOST_ITEMS);
  return Object.fromEntries(entries.map(([name, field]) => [showText(name, 100), showValue(field, depth - 1)]));
}

/** An error with its stack, whose lines stay lines. */
function showError(error: unknown): unknown {
  if (!(error instanceof Error)) return showValue(error, DEEPEST);
  const { stack, ...facts } = stdSerializers.err(error);
  const shown = showValue({ ...facts }, DEEPEST) as object;
  return { ...shown, ...(typeof stack === 'string' && { stack: showLines(stack, { maxLines: 40 }) }) };
}
