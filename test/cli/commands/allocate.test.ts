import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { builtBundle } from '../../support/built-bundle';
import { runInProcess as cpusetd } from '../../support/run-cli';
import { runBundle } from '../run-bundle';

const machine = '{"name":"m","cpus":[[0,0,0,0,0],[1,1,0,0,0],[2,0,0,0,0],[3,1,0,0,0]]}\n';
const request = '{"id":1,"topology":"m","algorithm":"packed","available":"0-3","numCPUs":1}\n';
const answered = '{"id":1,"result":"0","because":"no whole core fits: 1 CPU of cores where the fewest are free"}\n';
let folder: string;
let topologies: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'cli-'));
  topologies = join(folder, 'topologies.jsonl');
  writeFileSync(topologies, machine);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('each line of standard input has one answer', async () => {
  const args = ['allocate', '--batch', '-', '--topologies', topologies];
  expect(await runBundle(args, `${request}\n${request}`)).toEqual({
    status: 0,
    stdout: answered.repeat(2),
    stderr: '',
  });
});

test('a line that can’t be read is exit 1, and the others are answered', async () => {
  const args = ['allocate', '--batch', '-', '--topologies', topologies];
  expect(await cpusetd(args, { input: `{\n${request}` })).toEqual({
    status: 1,
    stdout: `{"line":1,"error":"not a line of JSON"}\n${answered}`,
    stderr: '',
  });
});

test('a missing batch file is wrong usage', async () => {
  expect(await cpusetd(['allocate', '--batch', '/nope', '--topologies', topologies])).toMatchObject({
    status: 2,
    stderr: expect.stringContaining("--batch /nope: can't be read (ENOENT)"),
  });
});

test('3,000 lines of a long file, with multibyte characters and no last line feed, are answered in order', async () => {
  const batch = join(folder, 'long.jsonl');
  const idOf = (i: number) => `${i} äöü\u2028 ${'x'.repeat(i % 97)}`;
  const ids = Array.from({ length: 3_000 }, (_, i) => idOf(i));
  const lines = ids.map((id) => JSON.stringify({ id, topology: 'm', available: '0-3', numCPUs: 1 }));
  writeFileSync(batch, lines.join('\n')); // no line feed after the last one
  const { status, stdout } = await cpusetd(['allocate', '--batch', batch, '--topologies', topologies]);
  const answers = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: string; result: string });
  expect({ status, answers: answers.length }).toEqual({ status: 0, answers: ids.length });
  expect(answers.map(({ id }) => id)).toEqual(ids);
  expect(new Set(answers.map(({ result }) => result))).toEqual(new Set(['0']));
});

test('a reader that closes the pipe ends the command quietly', () => {
  const batch = join(folder, 'batch.jsonl');
  writeFileSync(batch, request.repeat(20_000));
  const shell = `"${process.execPath}" "${builtBundle()}" allocate --batch "${batch}" --topologies "${topologies}" | head -n 1`;
  expect(execFileSync('sh', ['-c', shell], { encoding: 'utf8', stdio: 'pipe' })).toBe(answered);
});
