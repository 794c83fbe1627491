import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listProcessNames } from '../../../src/host';

test('the name of each process is listed once, and other entries are skipped', () => {
  const procRoot = mkdtempSync(join(tmpdir(), 'proc-'));
  try {
    const files = { '1/comm': 'systemd\n', '20/comm': 'a b\n', '21/comm': 'a b\n', 'self/comm': 'not a pid\n' };
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(join(procRoot, path, '..'), { recursive: true });
      writeFileSync(join(procRoot, path), text);
    }
    mkdirSync(join(procRoot, '22')); // a process that has ended
    expect([...listProcessNames(procRoot)].sort()).toEqual(['a b', 'systemd']);
  } finally {
    rmSync(procRoot, { recursive: true });
  }
});

test('by default the processes of this machine are listed', () => {
  expect(listProcessNames()).toContain('node');
});
