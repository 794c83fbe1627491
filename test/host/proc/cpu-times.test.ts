import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { busyBetween, readCpuTimes } from '../../../src/host';

let root: string;
beforeEach(() => (root = mkdtempSync(join(tmpdir(), 'proc-'))));
afterEach(() => rmSync(root, { recursive: true }));

// user nice system idle iowait irq softirq steal guest guest_nice
const statOf = (...cpus: readonly string[]): string =>
  ['cpu  9 9 9 9 9 9 9 9 9 9', ...cpus, 'intr 5', 'ctxt 7', ''].join('\n');
const read = (text: string) => {
  writeFileSync(join(root, 'stat'), text);
  return readCpuTimes(root);
};

test('busy is all but idle and waiting for I/O; guests are in their hosts', () => {
  expect(read(statOf('cpu0 10 1 2 80 5 1 1 0 7 7', 'cpu12 0 0 0 50 50 0 0 0 0 0'))).toEqual(
    new Map([
      [0, { busy: 15, total: 100, stealMs: 0 }],
      [12, { busy: 0, total: 100, stealMs: 0 }],
    ]),
  );
});

test('the part of the time that a CPU was busy, between two readings', () => {
  const before = read(
    statOf(
      'cpu0 0 0 0 0 0 0 0 0 0 0',
      'cpu1 5 0 0 5 0 0 0 0 0 0',
      'cpu2 0 0 0 9 0 0 0 0 0 0',
      'cpu4 0 0 0 9 0 0 0 0 0 0',
    ),
  );
  const after = read(
    statOf(
      'cpu0 25 0 0 75 0 0 0 0 0 0',
      'cpu1 5 0 0 5 0 0 0 0 0 0',
      'cpu2 20 0 0 1 0 0 0 0 0 0',
      'cpu3 9 0 0 9 0 0 0 0 0 0',
    ),
  );
  // CPU 1 has no time in between, 3 has just come online, 4 is gone, and the idle time of 2 was counted back.
  expect(busyBetween(before, after)).toEqual(
    new Map([
      [0, 0.25],
      [2, 1],
    ]),
  );
});

test('this machine has times of each CPU that is online', () => {
  const times = readCpuTimes();
  expect(times.size).toBeGreaterThan(0);
  for (const { busy, total } of times.values()) expect(busy).toBeLessThanOrEqual(total);
});
