import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { builtBundle } from '../support/built-bundle';
import { loadScript } from '../support/load-script';

const ROOT = join(__dirname, '../..');

test('processes that build take turns; what is up to date is not built again, so that those who run it can go on', async () => {
  const bundle = builtBundle();
  const { holdLock } = await loadScript<{ holdLock: (path: string, what: string) => () => void }>(
    'shared/hold-lock.mjs',
  );
  const builtAt = statSync(bundle).mtimeMs;
  const release = holdLock(join(ROOT, 'node_modules/.cache/build.lock'), 'dist');
  const build = spawn(process.execPath, ['scripts/build.mjs', '--if-stale'], { cwd: ROOT });
  const ended = once(build, 'close');
  const [line] = (await once(build.stderr, 'data')) as [Buffer];
  expect(String(line)).toContain(`dist: waiting for process ${process.pid} `);
  expect(build.exitCode).toBeNull();
  release();
  await expect(ended).resolves.toEqual([0, null]);
  expect(statSync(bundle).mtimeMs).toBe(builtAt);
});
