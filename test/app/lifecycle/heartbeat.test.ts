import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, uptime } from 'node:os';
import { join } from 'node:path';
import { readHeartbeat, writeHeartbeat } from '../../../src/app/lifecycle/heartbeat';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'heartbeat-'));
  path = join(folder, 'lock');
});
afterEach(() => rmSync(folder, { recursive: true }));

test('without a lock file there is no heartbeat, and writing one makes no file', () => {
  writeHeartbeat(path, Date.now());
  expect(readHeartbeat(path, Date.now())).toBeUndefined();
});

test('a folder in the place of the lock file is no heartbeat', () => {
  mkdirSync(path);
  expect(readHeartbeat(path, Date.now())).toBeUndefined();
});

test('the heartbeat that was written last is read back to the millisecond', () => {
  writeFileSync(path, '');
  const nowMs = Date.now();
  writeHeartbeat(path, nowMs - 1_234);
  expect(readHeartbeat(path, nowMs)).toBeCloseTo(nowMs - 1_234, 0);
});

test('a heartbeat of the future, as after a clock that was set back, counts as now', () => {
  writeFileSync(path, '');
  const nowMs = Date.now();
  writeHeartbeat(path, nowMs + 3_600_000);
  expect(readHeartbeat(path, nowMs)).toBe(nowMs);
});

test('a heartbeat from before the boot of the machine counts as the time of the boot', () => {
  writeFileSync(path, '');
  const nowMs = Date.now();
  const bootedMs = nowMs - uptime() * 1000;
  writeHeartbeat(path, bootedMs - 3_600_000);
  expect(Math.abs(readHeartbeat(path, nowMs)! - bootedMs)).toBeLessThan(1_000);
});
