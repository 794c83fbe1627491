import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const ROOT = join(__dirname, '../..');
const tested = 'test/scripts/release/tar.test.ts';

test('given a file that changes, then its nearest tests are run; Ctrl-C ends the watch', async () => {
  const child = spawn(process.execPath, ['scripts/watch.mjs'], { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
  const lines: string[] = [];
  await new Promise<void>((resolve) => {
    for (const input of [child.stdout, child.stderr])
      createInterface({ input }).on('line', (line) => {
        lines.push(line);
        const now = new Date();
        if (line.startsWith('watching ')) utimesSync(join(ROOT, tested), now, now);
        if (/^Tests: /.test(line)) resolve();
      });
    child.once('exit', () => resolve());
  });
  child.kill('SIGINT');
  await once(child, 'exit');
  const text = lines.join('\n');
  expect(text).toMatch(new RegExp(`^.*${tested}.*: \\d+ test files$`, 'm'));
  expect(text).toMatch(new RegExp(`^PASS unit ${tested}`, 'm'));
});
