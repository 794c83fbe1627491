import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Alarms } from '../../../src/app/alarms/alarms';
import { KubeletCpuManagerWatch } from '../../../src/app/node/kubelet-cpu-manager';
import { leastCpuMs } from '../../support/cpu-time';
import { formatKubeletState } from '../../../src/state/kubelet-checkpoint';

let dir: string;
let alarms: Alarms;
let kubelet: KubeletCpuManagerWatch;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kubelet-'));
  const now = () => '2026-11-21T10:00:00.000Z';
  alarms = new Alarms({ log: pino({ level: 'silent' }), now, onChange: () => undefined });
  kubelet = new KubeletCpuManagerWatch(dir, alarms);
});
afterEach(() => rmSync(dir, { recursive: true }));

const write = (text: string) => writeFileSync(join(dir, 'cpu_manager_state'), text);
const stateOf = (policyName: string, defaultCpuSet: string) =>
  formatKubeletState({ policyName, defaultCpuSet, entries: new Map(), podEntries: new Map() }, 'v2');
const look = () => {
  kubelet.look();
  return { alarms: alarms.list().length, isActive: kubelet.isActive };
};
const QUIET = { alarms: 0, isActive: false };

test('no file, or the policy none, is as it should be', () => {
  expect(look()).toEqual(QUIET);
  write(stateOf('none', ''));
  expect(look()).toEqual(QUIET);
});

test('static at the start may be a leftover: told, and called active only when it is written', () => {
  write(stateOf('static', '0-7'));
  expect(look()).toEqual({ alarms: 1, isActive: false });
  expect(look()).toEqual({ alarms: 1, isActive: false });
  expect(alarms.list()[0]!.because).toMatch(/is, or was, static/);
  write(stateOf('static', '0-3'));
  expect(look()).toEqual({ alarms: 1, isActive: true });
  expect(alarms.list()[0]!.because).toMatch(/has just been written/);
});

test.each<[string, () => void, boolean]>([
  ['nothing is there', () => undefined, false],
  ['the file says none', () => write(stateOf('none', '')), false],
  ['the file says static since before the start', () => write(stateOf('static', '0-7')), true],
  ['the configuration says static', () => kubelet.noteConfig('static'), true],
  ['the configuration says none', () => kubelet.noteConfig('none'), false],
  [
    'the configuration says none, and the kubelet was not started again since',
    () => (write(stateOf('static', '0-7')), kubelet.noteConfig('none')),
    true,
  ],
])('schedulers are told that the kubelet pins: %s', (_name, make, isStatic) => {
  make();
  kubelet.look();
  expect(kubelet.isStatic).toBe(isStatic);
  write(stateOf('none', ''));
  kubelet.noteConfig('none');
  kubelet.look();
  expect(kubelet.isStatic).toBe(false);
});

test('a file that appears while we run was written by somebody', () => {
  look();
  write(stateOf('static', '0-7'));
  expect(look()).toEqual({ alarms: 1, isActive: true });
});

test.each([
  ['removed', () => rmSync(join(dir, 'cpu_manager_state'))],
  ['set to none', () => write(stateOf('none', ''))],
])('the alarm is over when it is %s', (_name, change) => {
  write(stateOf('static', '0-7'));
  look();
  change();
  expect(look()).toEqual(QUIET);
});

test("a file with a wrong checksum still tells the kubelet's policy", () => {
  write(stateOf('static', '0-7').replace('0-7', '0-6'));
  expect(look().alarms).toBe(1);
});

test.each([['torn'], [''], ['{"policyName":"statical"}']])('%j is no sign of a second manager', (text) => {
  write(text);
  expect(look()).toEqual(QUIET);
});

describe('a file that no kubelet writes is told of, and the round goes on', () => {
  const WHOLE = Array.from({ length: 1500 }, (_, i) => `"${i}":{"cpuSet":"0-65535"}`).join(',');
  const HEAD = '"policyName":"none","defaultCpuSet":"","checksum":1';

  test.each([
    ['pods that have all CPU numbers', () => write(`{${HEAD},"podEntries":{${WHOLE}}}`), /name more than 65,536 CPUs/],
    ['too many entries', () => write(`{${HEAD},"entries":{${entries(10_000)}}}`), /more than 10,000 entries/],
    ['more than 1 MiB', () => write(`{${HEAD}}${' '.repeat(1 << 20)}`), /is larger than 1 MiB/],
    ['a FIFO', () => spawnSync('mkfifo', [join(dir, 'cpu_manager_state')]), /is not a regular file/],
    ['a folder', () => mkdirSync(join(dir, 'cpu_manager_state')), /is a folder, not a file/],
    ['a device', () => symlinkSync('/dev/zero', join(dir, 'cpu_manager_state')), /is not a regular file/],
  ])('%s', (_name, make, because) => {
    make();
    expect(look()).toEqual({ alarms: 1, isActive: false });
    const [alarm] = alarms.list();
    expect(alarm!.because).toMatch(because);
    expect(alarm!.because).toMatch(/^\/.*cpu_manager_state: .*remove it/);
    expect(leastCpuMs(() => new KubeletCpuManagerWatch(dir, alarms).look())).toBeLessThan(500);
    rmSync(join(dir, 'cpu_manager_state'), { recursive: true });
    expect(look()).toEqual(QUIET);
  });

  test('it may still say that the policy is static', () => {
    write(`{${HEAD.replace('none', 'static')},"podEntries":{${WHOLE}}}`);
    expect(look().alarms).toBe(1);
    expect(alarms.list()[0]!.because).toMatch(/is, or was, static/);
  });
});

function entries(count: number): string {
  return Array.from({ length: count }, (_, i) => `"${i}":{}`).join(',');
}
