import { pino } from 'pino';
import { ApiServerConnection } from '../../../src/app/apiserver/api-server-connection';
import type { Cgroups } from '../../../src/host';
import { NodeDriver } from '../../core/transition/node-driver';
import { contextOf } from '../../support/daemon-context';

const log = pino({ level: 'silent' });
const end = new AbortController();
beforeEach(() => jest.useFakeTimers());
afterEach(() => {
  jest.useRealTimers();
});
afterAll(() => end.abort());

function start(signal = end.signal) {
  const context = contextOf({
    model: new NodeDriver().model,
    cgroups: {} as Cgroups,
    now: () => new Date().toISOString(),
  });
  const connection = new ApiServerConnection({ context, access: { nodeName: 'n', log, signal } });
  const reasons = (): readonly string[] => context.alarms.list().map(({ because }) => because);
  return { connection, reasons };
}

test('an API server that has never answered is an alarm after a minute', () => {
  const { connection, reasons } = start();
  connection.become('connecting', '');
  jest.advanceTimersByTime(59_999);
  expect(reasons()).toEqual([]);
  jest.advanceTimersByTime(1);
  expect(reasons()).toEqual(['no news from the API server: it has not answered yet']);
});

test('the alarm has the latest reason, and is over once the API server answers', () => {
  const { connection, reasons } = start();
  connection.become('ready', '');
  jest.advanceTimersByTime(3_600_000);
  expect(reasons()).toEqual([]);
  connection.become('connecting', 'the answer of the credential plugin /bin/x did not come in time');
  jest.advanceTimersByTime(60_000);
  expect(reasons()).toEqual([
    'no news from the API server: the answer of the credential plugin /bin/x did not come in time',
  ]);
  connection.become('connecting', 'ECONNREFUSED');
  expect(reasons()).toEqual(['no news from the API server: ECONNREFUSED']);
  connection.become('ready', '');
  expect(reasons()).toEqual([]);
  connection.become('connecting', 'away');
  expect(reasons()).toEqual([]);
});

test('abort clears the timer', () => {
  start();
  const other = new AbortController();
  const before = jest.getTimerCount();
  start(other.signal);
  expect(jest.getTimerCount()).toBe(before + 1);
  other.abort();
  expect(jest.getTimerCount()).toBe(before);
});

test('absences below a minute are no alarm, and do not add up', () => {
  const { connection, reasons } = start();
  for (let round = 0; round < 3; round++) {
    connection.become('connecting', 'refused');
    jest.advanceTimersByTime(59_999);
    connection.become('ready', '');
  }
  jest.advanceTimersByTime(60_000);
  expect(reasons()).toEqual([]);
});
