import pino from 'pino';
import { HealthState } from '../../src/admin/health-state';
import { Alarms } from '../../src/app/alarms';
import { KubeConnection } from '../../src/app/kube-connection';

let end: AbortController;
beforeEach(() => {
  jest.useFakeTimers();
  end = new AbortController();
});
afterEach(() => {
  end.abort();
  jest.useRealTimers();
});

const MINUTE_MS = 60_000;

function connect() {
  const log = pino({ level: 'silent' });
  const now = (): string => new Date().toISOString();
  const alarms = new Alarms({ log, now, onChange: () => undefined });
  const health = new HealthState();
  const onChange = (): void => undefined;
  const connection = new KubeConnection({ nodeName: 'n1', health, alarms, log, signal: end.signal, now, onChange });
  return { connection, raised: () => alarms.list().map(({ kind, because }) => `${kind}: ${because}`) };
}

test('an API server that is away is an alarm after a minute, not before, with the newest reason', () => {
  const { connection, raised } = connect();
  connection.become('connecting', 'refused');
  jest.advanceTimersByTime(MINUTE_MS / 2);
  connection.become('connecting', 'timed out');
  jest.advanceTimersByTime(MINUTE_MS / 2 - 1);
  expect(raised()).toEqual([]);
  jest.advanceTimersByTime(1);
  expect(raised()).toEqual(['api-server: no news from the API server: timed out']);
  connection.become('ready', '');
  expect(raised()).toEqual([]);
});

test('one that is back within the minute is no alarm, and its next absence has a minute of its own', () => {
  const { connection, raised } = connect();
  for (let round = 0; round < 3; round++) {
    connection.become('connecting', 'refused');
    jest.advanceTimersByTime(MINUTE_MS - 1);
    connection.become('ready', '');
  }
  jest.advanceTimersByTime(MINUTE_MS);
  expect(raised()).toEqual([]);
});
