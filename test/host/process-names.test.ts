import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listProcessNames } from '../../src/host';

test('given a proc file system, lists the name of each process once and skips all other entries', () => {
  const procRoot = mkdtempSync(join(tmpdir(), 'proc-'));
  try {
    const files = { '1/comm': 'systemd\n', '20/comm': 'a b\n', '21/comm': 'a b\n', 'self/comm': 'not a pid\n' };
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(join(procRoot, path, '..'), { recursive: true });
      writeFileSync(join(procRoot, path), text);
    }
    mkdirSync(join(procRoot, '22')); // its process has ended
    expect([...listProcessNames(procRoot)].sort()).toEqual(['a b', 'systemd']);
  } finally {
    rmSync(procRoot, { recursive: true });
  }
});

test('by default it lists the processes of this machine, with this one', () => {
  expect(listProcessNames()).toContain('node');
});
