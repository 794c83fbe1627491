import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { readTopologies } from '../../../src/cli/machine/read-topologies';
import { UsageError } from '../../../src/cli/context';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'topo-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const machine = '{"name":"m","numCPUs":2,"cpus":[[0,0,0,0,0],[1,0,0,0,0]]}\n';

function read(text: string) {
  const path = join(folder, 'm.jsonl');
  writeFileSync(path, text);
  return readTopologies(path);
}

test('a FIFO is refused and does not hang', () => {
  const path = join(folder, 'fifo');
  spawnSync('mkfifo', [path]);
  expect(() => readTopologies(path)).toThrow(/fifo: is not a regular file/);
});

test('more CPUs than Linux supports are refused before a machine is built', () => {
  const cpus = Array.from({ length: 8193 }, (_, id) => [id, id, 0, 0, 0]);
  expect(() => read(JSON.stringify({ name: 'm', cpus }))).toThrow(/m\.jsonl:1: cpus: expected at most 8192/);
});

test('each machine is found by its name', () => {
  const topologies = read(`${machine}\n${machine.replace('"m"', '"n"')}`);
  expect([...topologies.keys()]).toEqual(['m', 'n']);
  expect(topologies.get('m')?.online.toString()).toBe('0-1');
  expect(topologies.get('m')?.cores).toHaveLength(1);
});

test.each`
  what                          | text                                               | message
  ${'no JSON'}                  | ${`${machine}x`}                                   | ${/m\.jsonl:2: .*; correct the line$/}
  ${'no name'}                  | ${'{"cpus":[[0,0,0,0,0]]}'}                        | ${/:1: name: expected string/}
  ${'no CPU'}                   | ${'{"name":"m","cpus":[]}'}                        | ${/:1: cpus: expected at least 1/}
  ${'a CPU without a core'}     | ${'{"name":"m","cpus":[[0]]}'}                     | ${/:1: cpus\.0/}
  ${'a negative CPU id'}        | ${'{"name":"m","cpus":[[-1,0,0,0,0]]}'}            | ${/:1: cpus\.0\.0: expected at least 0/}
  ${'a CPU id above the limit'} | ${'{"name":"m","cpus":[[999999,0,0,0,0]]}'}        | ${/:1: not a CPU id: 999999/}
  ${'a CPU twice'}              | ${'{"name":"m","cpus":[[0,0,0,0,0],[0,0,0,0,0]]}'} | ${/:1: CPU 0 is named twice/}
  ${'a name twice'}             | ${machine + machine}                               | ${/:2: the name m is taken by an earlier line/}
`('$what is wrong usage, and the message names the line', ({ text, message }) => {
  expect(() => read(text)).toThrow(UsageError);
  expect(() => read(text)).toThrow(message);
});

test('a missing file is wrong usage', () => {
  expect(() => readTopologies(join(folder, 'nope'))).toThrow(/--topologies .*nope: no such file; check the path/);
});
