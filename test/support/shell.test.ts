import { Shell } from './shell';

let shell: Shell;
beforeEach(() => (shell = new Shell({ env: { PATH: process.env['PATH'] ?? '' } })));
afterEach(() => shell.close());

test('given two blocks, then the second has the variables of the first, and each gives what it prints', async () => {
  expect(await shell.run('WHO=me\necho one >&2\necho two')).toBe('one\ntwo\n');
  expect(await shell.run('printf "%s" "$WHO"')).toBe('me');
});

test('given a block that reads standard input, then it does not get the next block', async () => {
  expect(await shell.run('cat')).toBe('');
  expect(await shell.run("cat <<'END'\n$text\nEND")).toBe('$text\n');
});

test.each(['false\necho after', 'echo before; exit 0', '(exit 3)'])(
  'given a command that fails or ends the shell, then an error names it: %j',
  async (commands) => {
    await expect(shell.run(commands)).rejects.toThrow(`one of these commands failed:\n${commands}`);
    await expect(shell.run('echo more')).rejects.toThrow('one of these commands failed');
  },
);
