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
  const told = (): readonly string[] => context.alarms.list().map(({ because }) => because);
  return { connection, told };
}

test('an API server of which nothing was ever heard is an alarm after a minute, as one that is away', () => {
  const { connection, told } = start();
  connection.become('connecting', '');
  jest.advanceTimersByTime(59_999);
  expect(told()).toEqual([]);
  jest.advanceTimersByTime(1);
  expect(told()).toEqual(['no news from the API server: it has not answered yet']);
});

test('the alarm says the reason of now, and is over when the server is there', () => {
  const { connection, told } = start();
  connection.become('ready', '');
  jest.advanceTimersByTime(3_600_000);
  expect(told()).toEqual([]);
  connection.become('connecting', 'the answer of the credential plugin /bin/x did not come in time');
  jest.advanceTimersByTime(60_000);
  expect(told()).toEqual([
    'no news from the API server: the answer of the credential plugin /bin/x did not come in time',
  ]);
  connection.become('connecting', 'ECONNREFUSED');
  expect(told()).toEqual(['no news from the API server: ECONNREFUSED']);
  connection.become('ready', '');
  expect(told()).toEqual([]);
  connection.become('connecting', 'away');
  expect(told()).toEqual([]);
});

test('the end of the daemon leaves no timer', () => {
  start();
  const other = new AbortController();
  const before = jest.getTimerCount();
  start(other.signal);
  expect(jest.getTimerCount()).toBe(before + 1);
  other.abort();
  expect(jest.getTimerCount()).toBe(before);
});

test('one that is back within the minute is no alarm, and its next absence has a minute of its own', () => {
  const { connection, told } = start();
  for (let round = 0; round < 3; round++) {
    connection.become('connecting', 'refused');
    jest.advanceTimersByTime(59_999);
    connection.become('ready', '');
  }
  jest.advanceTimersByTime(60_000);
  expect(told()).toEqual([]);
});
