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
const check = () => {
  kubelet.look();
  return { alarms: alarms.list().length, isActive: kubelet.isActive };
};
const QUIET = { alarms: 0, isActive: false };

test('no state file, or one with policy none: no alarm', () => {
  expect(check()).toEqual(QUIET);
  write(stateOf('none', ''));
  expect(check()).toEqual(QUIET);
});

test('a static state file from before the start is an alarm; the kubelet counts as active once the file is written', () => {
  write(stateOf('static', '0-7'));
  expect(check()).toEqual({ alarms: 1, isActive: false });
  expect(check()).toEqual({ alarms: 1, isActive: false });
  expect(alarms.list()[0]!.because).toMatch(/is, or was, static/);
  write(stateOf('static', '0-3'));
  expect(check()).toEqual({ alarms: 1, isActive: true });
  expect(alarms.list()[0]!.because).toMatch(/has just been written/);
});

test.each<[string, () => void, boolean]>([
  ['without a file: no', () => undefined, false],
  ['the file says none: no', () => write(stateOf('none', '')), false],
  ['the file says static since before the start: yes', () => write(stateOf('static', '0-7')), true],
  ['the configuration says static: yes', () => kubelet.noteConfig('static'), true],
  ['the configuration says none: no', () => kubelet.noteConfig('none'), false],
  [
    'the configuration says none, but the kubelet has not restarted since: yes',
    () => (write(stateOf('static', '0-7')), kubelet.noteConfig('none')),
    true,
  ],
])('isStatic: %s', (_name, prepare, isStatic) => {
  prepare();
  kubelet.look();
  expect(kubelet.isStatic).toBe(isStatic);
  write(stateOf('none', ''));
  kubelet.noteConfig('none');
  kubelet.look();
  expect(kubelet.isStatic).toBe(false);
});

test('a static file that appears after the start counts as written by an active kubelet', () => {
  check();
  write(stateOf('static', '0-7'));
  expect(check()).toEqual({ alarms: 1, isActive: true });
});

test.each([
  ['removed', () => rmSync(join(dir, 'cpu_manager_state'))],
  ['set to none', () => write(stateOf('none', ''))],
])('a static file that is %s ends the alarm', (_name, change) => {
  write(stateOf('static', '0-7'));
  check();
  change();
  expect(check()).toEqual(QUIET);
});

test("a file with a wrong checksum still gives the kubelet's policy", () => {
  write(stateOf('static', '0-7').replace('0-7', '0-6'));
  expect(check().alarms).toBe(1);
});

test.each([['torn'], [''], ['{"policyName":"statical"}']])('a file with the text %j is no alarm', (text) => {
  write(text);
  expect(check()).toEqual(QUIET);
});

describe('a file that no kubelet writes is an alarm, and the check goes on:', () => {
  const WHOLE = Array.from({ length: 1500 }, (_, i) => `"${i}":{"cpuSet":"0-65535"}`).join(',');
  const HEAD = '"policyName":"none","defaultCpuSet":"","checksum":1';

  test.each([
    ['pods that have all CPU numbers', () => write(`{${HEAD},"podEntries":{${WHOLE}}}`), /name more than 65,536 CPUs/],
    ['too many entries', () => write(`{${HEAD},"entries":{${entries(10_000)}}}`), /more than 10,000 entries/],
    ['more than 1 MiB', () => write(`{${HEAD}}${' '.repeat(1 << 20)}`), /is larger than 1 MiB/],
    ['a FIFO', () => spawnSync('mkfifo', [join(dir, 'cpu_manager_state')]), /is not a regular file/],
    ['a folder', () => mkdirSync(join(dir, 'cpu_manager_state')), /is a folder, not a file/],
    ['a device', () => symlinkSync('/dev/zero', join(dir, 'cpu_manager_state')), /is not a regular file/],
  ])('%s', (_name, prepare, because) => {
    prepare();
    expect(check()).toEqual({ alarms: 1, isActive: false });
    const [alarm] = alarms.list();
    expect(alarm!.because).toMatch(because);
    expect(alarm!.because).toMatch(/^\/.*cpu_manager_state: .*remove it/);
    expect(leastCpuMs(() => new KubeletCpuManagerWatch(dir, alarms).look(), { limitMs: 500 })).toBeLessThan(500);
    rmSync(join(dir, 'cpu_manager_state'), { recursive: true });
    expect(check()).toEqual(QUIET);
  });

  test('a damaged file whose policy is readable as static is an alarm', () => {
    write(`{${HEAD.replace('none', 'static')},"podEntries":{${WHOLE}}}`);
    expect(check().alarms).toBe(1);
    expect(alarms.list()[0]!.because).toMatch(/is, or was, static/);
  });
});

function entries(count: number): string {
  return Array.from({ length: count }, (_, i) => `"${i}":{}`).join(',');
}
