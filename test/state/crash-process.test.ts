import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { openStateStore } from '../../src/state';
import { assignmentOf } from './support/assignments';
import { useTempDirs } from './support/temp-dir';

const makeDir = useTempDirs();

test('a process killed with SIGKILL at each operation leaves the old or the new state', () => {
  const child = join(makeDir(), 'crash-child.js');
  buildSync({
    entryPoints: [join(__dirname, 'support/crash-child.ts')],
    bundle: true,
    platform: 'node',
    outfile: child,
  });

  const found: unknown[] = [];
  for (let killAt = 0, alive = false; !alive && killAt < 50; killAt++) {
    const dir = makeDir();
    const before = openStateStore({ dir, version: '0.1.0' });
    const saved = before.ok && before.store.save({ generation: 1, assignments: [assignmentOf('old', '1')] }).ok;
    expect(saved).toBe(true);

    const { status, signal, stderr } = spawnSync(process.execPath, [child, dir, String(killAt)], {
      encoding: 'utf8',
      timeout: 120_000,
    });
    alive = signal === null;
    expect({ status, signal, stderr }).toEqual({
      status: alive ? 0 : null,
      signal: alive ? null : 'SIGKILL',
      stderr: '',
    });

    const after = openStateStore({ dir, version: '0.1.0' });
    found.push(after.ok && after.store.loaded.kind === 'loaded' ? after.store.loaded.state.generation : after);
  }
  expect(found.length).toBeGreaterThan(12);
  expect(found.join(' ')).toMatch(/^(1 ){8,}(2 ){3}2$/);
});
