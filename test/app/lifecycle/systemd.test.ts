import { readSystemd } from '../../../src/app/lifecycle/systemd';

const NOTIFY_SOCKET = '/run/systemd/notify';

test.each([
  ['without a socket there is no systemd', { WATCHDOG_USEC: '1000000' }, undefined],
  ['an empty name is no socket', { NOTIFY_SOCKET: '' }, undefined],
  ['without WatchdogSec= there is no limit', { NOTIFY_SOCKET }, { watchdogMs: undefined }],
  ['the limit is in microseconds', { NOTIFY_SOCKET, WATCHDOG_USEC: '180000000' }, { watchdogMs: 180_000 }],
  ['the limit is ours', { NOTIFY_SOCKET, WATCHDOG_USEC: '1000000', WATCHDOG_PID: '42' }, { watchdogMs: 1_000 }],
  [
    'it is that of our parent',
    { NOTIFY_SOCKET, WATCHDOG_USEC: '1000000', WATCHDOG_PID: '7' },
    { watchdogMs: undefined },
  ],
  ['0 is no limit', { NOTIFY_SOCKET, WATCHDOG_USEC: '0' }, { watchdogMs: undefined }],
  ['a word is no limit', { NOTIFY_SOCKET, WATCHDOG_USEC: 'soon' }, { watchdogMs: undefined }],
])('%s', (_what, env, expected) => {
  expect(readSystemd(env, 42)).toEqual(expected && { notifySocket: NOTIFY_SOCKET, ...expected });
});
