import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadScript } from '../../support/load-script';

interface Script {
  holdLock(
    path: string,
    what: string,
    options: { readonly log: (line: string) => void; readonly limitMs?: number },
  ): () => void;
}

let script: Script;
let folder: string;
let holder: ChildProcess | undefined;
beforeAll(async () => {
  script = await loadScript<Script>('shared/hold-lock.mjs');
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lock-'));
});
afterEach(() => {
  holder?.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

/** Starts a process that takes the lock and then runs this code. */
async function startHolder(code: string): Promise<ChildProcess> {
  const path = join(__dirname, '../../../scripts/shared/hold-lock.mjs');
  const take = `import { holdLock } from '${path}'; holdLock('${folder}/lock', 'a program'); console.log('held');`;
  const started = spawn(process.execPath, ['--input-type=module', '-e', `${take}\n${code}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  holder = started;
  await once(started.stdout, 'data');
  return started;
}

const wait = 'setInterval(() => {}, 1000);';
/** Works without a word for longer than the limit of the test. */
const work = 'while (process.cpuUsage().user < 1_500_000);';

test('a builder that works in silence is waited for, with a line that names it', async () => {
  const { pid } = await startHolder(work);
  const lines: string[] = [];
  script.holdLock(join(folder, 'lock'), 'a program', { log: (line) => void lines.push(line), limitMs: 1_000 })();
  const line =
    /^a program: waiting for process (\d+) \(since [-\d]+T.*Z\), which makes it; its last progress was 0 s ago$/;
  expect(lines).not.toEqual([]); // one a minute
  for (const each of lines) expect(each).toMatch(line);
  expect(lines[0]).toContain(`process ${pid} `);
});

test('a builder that dies: the waiter takes over', async () => {
  const dying = await startHolder(wait);
  const release = script.holdLock(join(folder, 'lock'), 'a program', { log: () => dying.kill('SIGKILL') });
  expect(dying.killed).toBe(true);
  release();
});

test('a builder without progress: the waiter names it, and gives up', async () => {
  const { pid } = await startHolder(wait);
  expect(() => script.holdLock(join(folder, 'lock'), 'a program', { log: () => undefined, limitMs: 500 })).toThrow(
    new RegExp(`^a program: process ${pid} .* made no progress for 0.5 s: end it, and run this again$`),
  );
});
