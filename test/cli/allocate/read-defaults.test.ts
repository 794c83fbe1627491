import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { readDefaults } from '../../../src/cli/allocate/read-defaults';
import { UsageError } from '../../../src/cli/context';

let folder: string;
let machine: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'defaults-'));
  machine = join(folder, 'm.jsonl');
  writeFileSync(machine, '{"name":"m","cpus":[[0,0,0,0,0],[1,1,0,0,0]]}\n');
});
afterAll(() => rmSync(folder, { recursive: true }));

test('--topology is the default machine, and --topologies are found by name', () => {
  const defaults = readDefaults({ topology: machine, topologies: machine });
  expect([defaults.topology?.online.toString(), [...defaults.topologies.keys()]]).toEqual(['0-1', ['m']]);
});

test('--options and --reserved-cpus are parsed', () => {
  const { options, reserved } = readDefaults({
    topologies: machine,
    options: 'full-pcpus-only=true',
    reservedCpus: '0',
  });
  expect([options.fullPcpusOnly, options.strictCpuReservation, reserved.toString()]).toEqual([true, false, '0']);
});

test.each([
  ['no machine', {}, /^no machine is given; name a file of machines with --topologies/],
  ['an option without value', { topologies: '', options: 'a' }, /^--options: "a" has a part that is no pair/],
  ['an unknown option', { topologies: '', options: 'a=1' }, /^--options a=1: /],
  ['no CPU list', { topologies: '', reservedCpus: 'x' }, /^--reserved-cpus: "x" is not a CPU list/],
])('%s is wrong usage, and the message names the option', (_name, options, message) => {
  const given = { ...options, ...('topologies' in options && { topologies: machine }) };
  expect(() => readDefaults(given)).toThrow(UsageError);
  expect(() => readDefaults(given)).toThrow(message);
});
