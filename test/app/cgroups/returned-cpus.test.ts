import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { ReturnedCpus, type ReturnedCpusParts } from '../../../src/app/cgroups/returned-cpus';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import { InnerCpusets } from '../../../src/host/cgroup/inner-cpusets';
import { OWED } from '../../../src/app/owed-effects/owed';
import { OwedNote } from '../../../src/app/owed-effects/owed-note';

const UID = '8f3c1a52-0f7e-4d0e-9b0e-1c2d3e4f5a6b';
const pod = { uid: UID, cgroupParent: `/op/kubepods/burstable/pod${UID}` };
const ALL = parseCpuList('0-7');

let stateDir: string;
beforeEach(() => (stateDir = mkdtempSync(join(tmpdir(), 'returned-'))));
afterEach(() => rmSync(stateDir, { recursive: true }));

/**
 * A kernel of version 1 with the cgroups of a kubelet below `/op`: offline CPUs leave every cgroup and come back to the
 * first only.
 */
class Kernel {
  readonly lists = new Map([['/', '0-7'], ['/op', '0-7'], ['/op/kubepods', '0-7']].map(([path, list]) => [path!, parseCpuList(list!)])); // prettier-ignore
  online = ALL;
  refuses = false;

  set(path: string, list: string): void {
    this.lists.set(path, parseCpuList(list));
  }

  setOnline(list: string): void {
    this.online = parseCpuList(list);
    for (const [path, cpus] of this.lists)
      this.lists.set(path, path === '/' ? this.online : cpus.intersect(this.online));
  }

  show(path = '/op/kubepods'): string {
    return this.lists.get(path)!.toString();
  }

  readonly cgroups = {
    version: 1,
    inner: new InnerCpusets(),
    readActive: () => this.lists.get('/'),
    readCpus: (path: string) => {
      const cpus = this.lists.get(path);
      return cpus ? { kind: 'found', cpus, effectiveCpus: cpus } : { kind: 'gone' };
    },
    widen: ({ top }: { readonly top: string }, cpus: CpuSet) => {
      if (this.refuses) return { kind: 'refused', errno: 'EACCES', because: 'no' };
      const before = this.lists.get(top)!;
      this.lists.set(top, before.union(cpus));
      return { kind: 'ok', changed: !cpus.isSubsetOf(before) };
    },
  } as unknown as ReturnedCpusParts['cgroups'];
}

function open(kernel: Kernel, more: Partial<ReturnedCpusParts> & { readonly bootId?: string } = {}) {
  const logged: object[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line) => logged.push(JSON.parse(line) as object) });
  const note = new OwedNote(OWED.takenCpus, { stateDir, log });
  const returned = new ReturnedCpus({
    cgroups: kernel.cgroups,
    canWrite: true,
    kubelet: { cgroupRoot: '/op', cgroupDriver: 'cgroupfs' },
    takenCpus: { note, bootId: more.bootId ?? 'boot' },
    log,
    ...more,
  });
  /** The work of the daemon in each second. */
  const follow = (list: string): void => {
    const before = kernel.online;
    kernel.setOnline(list);
    returned.noteOffline(before.minus(kernel.online).union(kernel.online.minus(before)));
    returned.giveBack(kernel.online);
    returned.look();
  };
  return { returned, follow, logged };
}

test('a CPU that went offline is given back, and the log names it', () => {
  const kernel = new Kernel();
  const { follow, logged } = open(kernel);
  follow('0-6');
  expect([kernel.show(), logged]).toEqual(['0-6', []]);
  follow('0-7');
  expect(kernel.show('/op')).toBe('0-6');
  expect(kernel.show()).toBe('0-6'); // not before the cgroup above has it
  kernel.lists.set('/op', ALL);
  follow('0-7');
  expect(kernel.show()).toBe('0-7');
  expect(logged).toEqual([
    { level: 30, cgroup: '/op/kubepods', cpus: '7', msg: 'cgroups of pods lacked CPUs that had been offline; they have them again' },
  ]); // prettier-ignore
  expect(readdirSync(stateDir)).toEqual([]);
});

test.each([
  ['the operator’s cgroup above lacks CPUs', '/op'],
  ['the cgroup of all pods lacks CPUs', '/op/kubepods'],
])('%s, which were online all the time: they stay away, whatever goes offline', (_name, path) => {
  const kernel = new Kernel();
  kernel.set(path, '0-3');
  kernel.set('/op/kubepods', '0-3');
  const { returned, follow, logged } = open(kernel);
  returned.giveBackFor(pod, ALL);
  follow('0-7');
  expect([kernel.show(), kernel.show(path)]).toEqual(['0-3', '0-3']);
  follow('0-5'); // 6 and 7 were never there
  follow('0-7');
  if (path === '/op') kernel.lists.set('/op', parseCpuList('0-3'));
  returned.giveBackFor(pod, ALL);
  expect([kernel.show(), kernel.show(path), logged]).toEqual(['0-3', '0-3', []]);
});

test('a CPU that comes back while cpusetd does not run is given back at the next start, and once', () => {
  const kernel = new Kernel();
  open(kernel).follow('0-6');
  kernel.setOnline('0-7');
  kernel.lists.set('/op', ALL);
  const { returned } = open(kernel);
  returned.giveBack(ALL);
  expect(kernel.show()).toBe('0-7');
  kernel.set('/op/kubepods', '0-6'); // the operator narrows it later
  const later = open(kernel);
  later.follow('0-7');
  expect(kernel.show()).toBe('0-6');
});

test('what an earlier boot knew is nothing', () => {
  const kernel = new Kernel();
  open(kernel).follow('0-6');
  kernel.setOnline('0-7');
  kernel.lists.set('/op', ALL);
  open(kernel, { bootId: 'another' }).returned.giveBack(ALL);
  expect(kernel.show()).toBe('0-6');
});

test('a refusal is logged once, and tried again', () => {
  const kernel = new Kernel();
  const { follow, logged } = open(kernel);
  follow('0-6');
  kernel.refuses = true;
  for (let i = 0; i < 3; i++) {
    kernel.setOnline('0-7');
    kernel.lists.set('/op', ALL);
    follow('0-7');
    kernel.lists.set('/op', ALL);
    follow('0-7');
  }
  expect(logged).toMatchObject([{ level: 40, because: 'no' }]);
  kernel.refuses = false;
  follow('0-7');
  expect(kernel.show()).toBe('0-7');
});

test('the place of the pods is learned from a pod', () => {
  const kernel = new Kernel();
  const { returned, follow } = open(kernel, { kubelet: {} });
  follow('0-6');
  kernel.setOnline('0-7');
  kernel.lists.set('/op', ALL);
  follow('0-7');
  kernel.lists.set('/op', ALL);
  expect(kernel.show()).toBe('0-6');
  returned.giveBackFor(pod, ALL);
  expect(kernel.show()).toBe('0-7');
});

test.each([
  ['on version 2', { version: 2 as const, canWrite: true }],
  ['where cgroups are not written', { version: 1 as const, canWrite: false }],
])('%s nothing is given, and nothing is remembered', (_name, { version, canWrite }) => {
  const kernel = new Kernel();
  const { follow } = open(kernel, { cgroups: { ...kernel.cgroups, version }, canWrite });
  follow('0-6');
  kernel.lists.set('/op', ALL);
  follow('0-7');
  expect([kernel.show(), readdirSync(stateDir)]).toEqual(['0-6', []]);
});

test('lists of cgroups in containers outlive the process, as long as the cgroup is there', () => {
  const kernel = new Kernel();
  const { returned } = open(kernel);
  const list = { own: parseCpuList('1'), given: parseCpuList('0') };
  const container = stateDir;
  mkdirSync(`${container}/a`);
  writeFileSync(`${container}/a/cpuset.cpus`, '0');
  for (const name of ['a', 'gone'])
    kernel.cgroups.inner.remember({ container, file: `${container}/${name}/cpuset.cpus`, ...list });
  returned.round();
  const next = new Kernel();
  open(next);
  expect(next.cgroups.inner.lists.map(({ file }) => file)).toEqual([`${stateDir}/a/cpuset.cpus`]);
  expect(next.cgroups.inner.ownOf(`${stateDir}/a/cpuset.cpus`, parseCpuList('0'))?.toString()).toBe('1');
  next.cgroups.inner.forget(`${stateDir}/a/cpuset.cpus`);
});

test('CPUs that the cgroup of all pods lacked and has again are given to what is below it, and only once it has them', () => {
  const kernel = new Kernel();
  kernel.set('/op/kubepods', '0-5');
  const { returned } = open(kernel);
  const widen = jest.spyOn(kernel.cgroups, 'widen');
  expect(returned.giveBack(ALL)).toBe(false);
  kernel.set('/op/kubepods', '0-6');
  returned.noteAdmitted(parseCpuList('6'));
  returned.giveBack(ALL);
  expect(widen.mock.calls.map(([{ top }, cpus]) => [top, cpus.toString()])).toEqual([['/op/kubepods', '6']]);
  returned.giveBack(ALL);
  expect(widen).toHaveBeenCalledTimes(1);
  expect(kernel.show()).toBe('0-6');
});

test('given a disk that was full, the debt is saved in a later round', () => {
  const kernel = new Kernel();
  const { returned, follow } = open(kernel);
  rmSync(stateDir, { recursive: true });
  follow('0-6');
  mkdirSync(stateDir);
  returned.round();
  expect(readdirSync(stateDir)).toEqual(['taken-cpus.json']);
});
