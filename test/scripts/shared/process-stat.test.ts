import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadScript } from '../../support/load-script';

interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly cpuSeconds: number;
  readonly childCpuSeconds: number;
  readonly startTicks: string;
}
let readProcessStat: (pid: number | 'self') => ProcessStat | undefined;
beforeAll(async () => {
  ({ readProcessStat } = await loadScript<{ readProcessStat: typeof readProcessStat }>('shared/process-stat.mjs'));
});

test('a program whose name has spaces and parentheses', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'stat-'));
  const program = join(folder, 'a) S 1 (b');
  symlinkSync('/bin/sleep', program);
  const child = spawn(program, ['60'], { detached: true });
  await once(child, 'spawn');
  const stat = readProcessStat(child.pid!);
  child.kill();
  await once(child, 'close');
  rmSync(folder, { recursive: true });
  expect(stat).toMatchObject({ pid: child.pid, parent: process.pid, group: child.pid });
  expect(Number(stat?.startTicks)).toBeGreaterThan(0);
  expect(readProcessStat(child.pid!)).toBeUndefined();
});

test('the CPU time of a child counts with its parent when it has ended', () => {
  const before = readProcessStat('self')!;
  execFileSync(process.execPath, [
    '-e',
    'const end = process.cpuUsage().user + 50_000; while (process.cpuUsage().user < end);',
  ]);
  const after = readProcessStat('self')!;
  expect(after.childCpuSeconds - before.childCpuSeconds).toBeGreaterThanOrEqual(0.04);
});
