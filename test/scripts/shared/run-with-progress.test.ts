import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadScript } from '../../support/load-script';
import { poll, slowness, waitUntil } from '../../support/wait-until';

interface Options {
  readonly what: string;
  readonly remedy?: string;
  readonly limitMs?: number;
  readonly onLine?: (line: string) => void;
}
interface Script {
  readonly EndedFromOutside: new () => Error;
  runWithProgress(command: string, args: readonly string[], options: Options): Promise<object>;
}

const path = join(__dirname, '../../../scripts/shared/run-with-progress.mjs');
let script: Script;
let folder: string;
beforeAll(async () => {
  script = await loadScript<Script>('shared/run-with-progress.mjs');
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'progress-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const shell = (code: string, options: Options) => script.runWithProgress('sh', ['-c', code], options);
const isAlive = (pid: number): boolean => !/^State:\s+Z/m.test(statusOf(pid)) && existsSync(`/proc/${pid}`);
const statusOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return '';
  }
};
const pidIn = (file: string): Promise<number> =>
  poll(`a pid in ${file}`, () => {
    const text = existsSync(join(folder, file)) ? readFileSync(join(folder, file), 'utf8') : '';
    return text.endsWith('\n') ? Number(text) : undefined;
  });

test('a command that ends by itself: its status and what it printed', async () => {
  const lines: string[] = [];
  const onLine = (line: string): void => void lines.push(line);
  const ended = await shell('echo out; echo err >&2; exit 3', { what: 'a program', onLine });
  expect(ended).toEqual({ status: 3, stdout: 'out\n', stderr: 'err\n' });
  expect(lines).toEqual(['err']);
});

test('no progress: all processes are ended, and the error names the command, the limit, the last line and the remedy', async () => {
  const code = `echo begun; sleep 1000 & echo $! > ${folder}/child; sleep 1000`;
  await expect(shell(code, { what: 'a program', limitMs: 1_000, remedy: 'go on' })).rejects.toThrow(
    /^a program: sh -c echo begun; sleep.* made no progress for 1 s .* and was ended; its last line: begun; go on$/,
  );
  const child = await pidIn('child');
  await waitUntil('the second process to end', () => !isAlive(child));
});

test('CPU time without a line is progress, also of a process that the command started', async () => {
  const limitMs = 1_000 * slowness(); // on a busy machine a program gets a CPU more rarely
  const work = `while (performance.now() < ${1.5 * limitMs});`;
  await expect(
    shell(`'${process.execPath}' -e '${work}'; exit 0`, { what: 'a program', limitMs }),
  ).resolves.toMatchObject({ status: 0 });
});

test('a signal from outside: the error says so', async () => {
  const running = shell('kill -TERM $$', { what: 'a program', remedy: 'the next goes on' });
  await expect(running).rejects.toThrow(/ was ended from outside by SIGTERM; the next goes on$/);
  await expect(running).rejects.toBeInstanceOf(script.EndedFromOutside);
});

test.each`
  how                    | signal       | said
  ${'is ended'}          | ${'SIGTERM'} | ${/a program: .* was ended from outside by SIGTERM; run it again/}
  ${'is killed at once'} | ${'SIGKILL'} | ${/a program: .* was ended from outside: its caller is gone; run it again/}
`('its caller $how: the command ends too', async ({ signal, said }: { signal: NodeJS.Signals; said: RegExp }) => {
  const code = `import { runWithProgressSync } from '${path}';
    const code = 'echo $$ > ${folder}/command; sleep 1000';
    runWithProgressSync('sh', ['-c', code], { what: 'a program', limitMs: 100_000 });`;
  const args = ['--input-type=module', '-e', code];
  const caller = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'], detached: true });
  let printed = '';
  caller.stderr.on('data', (text) => (printed += String(text)));
  const ended = once(caller, 'close');
  const command = await pidIn('command');
  if (signal === 'SIGKILL') caller.kill(signal);
  else process.kill(-caller.pid!, signal);
  await ended;
  await waitUntil('the command to end', () => !isAlive(command));
  expect(printed.trim()).toMatch(said);
});
