import { pino } from 'pino';
import { ListingLog } from '../../../src/app/reconcile/listing-log';
import { CpusetdError } from '../../../src/core/errors';

function listing() {
  const lines: string[] = [];
  const log = pino(
    { level: 'debug', base: null, timestamp: false, formatters: { level: (level) => ({ level }) } },
    {
      write: (line) => {
        const { level, msg, because } = JSON.parse(line) as { level: string; msg: string; because?: string };
        lines.push([level, msg, because].filter((part) => part !== undefined).join(': '));
      },
    },
  );
  const stop = new AbortController();
  return { lines, stop, listingLog: new ListingLog({ log, signal: stop.signal }) };
}

test('the first failure is a warning, repetitions are debug lines, and the end is logged', () => {
  const { lines, listingLog } = listing();
  listingLog.worked();
  listingLog.failed(new CpusetdError('DEADLINE_EXCEEDED', 'no answer after 5.001 s'));
  listingLog.failed(new CpusetdError('DEADLINE_EXCEEDED', 'no answer after 5.002 s'));
  listingLog.worked();
  listingLog.worked();
  listingLog.failed(new CpusetdError('DEADLINE_EXCEEDED', 'no answer after 5.003 s'));
  expect(lines).toEqual([
    `warn: the runtime could not be listed: no answer after 5.001 s`,
    'debug: the runtime could not be listed: no answer after 5.002 s',
    'info: the runtime is listed again',
    `warn: the runtime could not be listed: no answer after 5.003 s`,
  ]);
});

test('a failure of another kind is a new warning', () => {
  const { lines, listingLog } = listing();
  listingLog.failed(new CpusetdError('UNAVAILABLE', 'no socket'));
  listingLog.failed(new CpusetdError('UNIMPLEMENTED', 'no such service'));
  expect(lines.map((line) => line.split(':')[0])).toEqual(['warn', 'warn']);
});

test('an internal fault is thrown and not logged', () => {
  const { lines, listingLog } = listing();
  expect(() => listingLog.failed(new TypeError('x is undefined'))).toThrow(TypeError);
  expect(lines).toEqual([]);
});

test('a failure after abort is not logged', () => {
  const { lines, stop, listingLog } = listing();
  stop.abort();
  listingLog.failed(new CpusetdError('CANCELLED', 'cancelled'));
  expect(lines).toEqual([]);
});
