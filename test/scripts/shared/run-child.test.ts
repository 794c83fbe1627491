import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const MODULE = pathToFileURL(join(__dirname, '../../../scripts/shared/run-child.mjs')).href;

/** Runs a shell command by `runChild` in a process of its own, which prints the end of it. */
function start(command: string) {
  const script = `
    import { runChild } from '${MODULE}';
    console.log(JSON.stringify(await runChild('sh', ['-c', ${JSON.stringify(command)}], { cwd: '/' })));`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
}

test('the status of the program', async () => {
  const { child, lines } = start('exit 3');
  const closed = once(child, 'close');
  expect((await lines.next()).value).toBe('{"status":3,"signal":null}');
  expect(await closed).toEqual([0, null]);
});

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  '%s ends the program, and then this process goes on',
  async (signal) => {
    const { child, lines } = start('echo started; exec sleep 30');
    const closed = once(child, 'close');
    expect((await lines.next()).value).toBe('started');
    child.kill(signal);
    expect((await lines.next()).value).toBe(`{"status":null,"signal":"${signal}"}`);
    expect(await closed).toEqual([0, null]);
  },
);

test('a program that does not exist is an error', async () => {
  const script = `import { runChild } from '${MODULE}'; await runChild('no-such-program', [], { cwd: '/' });`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (text) => (said += String(text)));
  const [status] = (await once(child, 'close')) as [number];
  expect(status).toBe(1);
  expect(said).toContain('spawn no-such-program ENOENT');
});
