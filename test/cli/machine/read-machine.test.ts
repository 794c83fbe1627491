import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readMachine } from '../../../src/cli/machine/read-machine';
import { UsageError } from '../../../src/cli/context';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'machine-'))));
afterEach(() => rmSync(folder, { recursive: true }));

function fileOf(...names: readonly string[]): string {
  const path = join(folder, 'm.jsonl');
  writeFileSync(
    path,
    names.map((name) => `{"name":"${name}","numCPUs":2,"cpus":[[0,0,0,0,0],[1,0,0,0,0]]}\n`).join(''),
  );
  return path;
}

test('a file with one machine gives that machine', () => {
  const { online, cores } = readMachine(fileOf('m'));
  expect([online.toString(), cores.map(({ cpus }) => cpus.toString())]).toEqual(['0-1', ['0-1']]);
});

test.each([
  [0, []],
  [2, ['a', 'b']],
])('a file with %d machines is wrong usage, and the message names the option', (count, names) => {
  const path = fileOf(...names);
  expect(() => readMachine(path)).toThrow(UsageError);
  expect(() => readMachine(path)).toThrow(
    `--topology ${path}: describes ${count} machines, and one is needed; use --topologies for more`,
  );
});

test('a missing file is wrong usage, and the message names the option', () => {
  expect(() => readMachine(join(folder, 'absent'))).toThrow(/^--topology .*absent: no such file/);
});

test('live gives the machine of this process, or wrong usage if its sysfs can’t be read', () => {
  let outcome: string;
  try {
    outcome = `online ${readMachine('live').online.toString()}`;
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    outcome = (error as Error).message;
  }
  expect(outcome).toMatch(/^(online \d|--topology live: \/sys\/)/);
});
