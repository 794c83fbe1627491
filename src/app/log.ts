import { destination, pino, stdTimeFunctions, type Logger } from 'pino';
import pretty from 'pino-pretty';

/**
 * The daemon's log on a file descriptor: one JSON object a line, or lines for people. Written at once, so that a
 * crash loses nothing of it.
 */
export function createLog(
  { logLevel, logFormat }: { readonly logLevel: string; readonly logFormat: 'json' | 'pretty' },
  fd: number,
): Logger {
  const options = {
    level: logLevel,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  if (logFormat === 'json') return pino(options, destination({ dest: fd, sync: true }));
  return pino(options, pretty({ destination: fd, sync: true, translateTime: 'SYS:HH:MM:ss.l' }));
}
