import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { listCommands } from '../docs/commands';

const ROOT = join(__dirname, '../..');
const run = promisify(execFile);

let folder: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'precommit-'));
  for (const path of ['scripts', '.githooks', 'package.json', 'package-lock.json', '.prettierrc.json'])
    cpSync(join(ROOT, path), join(folder, path), { recursive: true });
  for (const path of ['src', 'test']) mkdirSync(join(folder, path));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  await git('init', '--quiet');
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Runs git as another user would. Gives its output; rejects unless it exits with 0. */
async function git(...args: string[]): Promise<string> {
  const { stdout, stderr } = await run('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
    cwd: folder,
  });
  return stdout + stderr;
}

const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);

test('with the command of CONTRIBUTING.md a commit is refused until what is staged is right; other files do not count', async () => {
  const commands = listCommands(
    'CONTRIBUTING.md',
    readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8'),
    ([program]) => program === 'git',
  );
  const install = commands.find(({ words }) => words.includes('core.hooksPath'))!;
  await git(...install.words.slice(1));
  write('staged.json', '{"a":1}');
  write('other.json', '{"a":1}');
  await git('add', 'staged.json');
  await expect(git('commit', '--message', 'x')).rejects.toMatchObject({
    stderr: expect.stringMatching(/staged\.json/) as string,
  });
  await expect(git('rev-parse', 'HEAD')).rejects.toThrow();
  write('staged.json', '{ "a": 1 }\n');
  await git('add', 'staged.json');
  await git('commit', '--message', 'x');
  write('staged.json', '{"a":1}');
  await git('add', 'staged.json');
  await git('commit', '--no-verify', '--message', 'y');
  expect(await git('log', '--format=%s')).toBe('y\nx\n');
});

test('with nothing staged the check says it, and succeeds', async () => {
  const { stdout } = await run('npm', ['run', '--silent', 'precommit'], { cwd: folder });
  expect(stdout).toBe('no file is staged\n');
});
