import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import { openCgroups, type Cgroups, type ThreadsReading, type WriteOutcome } from '../../../src/host';
import { waitUntil } from '../../support/wait-until';
import { describeOnKernel, TestCgroup } from './test-cgroup';

const cpus = (list: string): { readonly cpus: CpuSet } => ({ cpus: parseCpuList(list) });
const ok = (changed: boolean): WriteOutcome => ({ kind: 'ok', changed });
const allowed = (reading: ThreadsReading): string[] =>
  reading.kind === 'found' ? [...new Set(reading.threads.map((thread) => thread.allowed.toString()))] : [reading.kind];

let group: TestCgroup;
let cgroups: Cgroups;
beforeEach(() => {
  group = new TestCgroup('rw');
  cgroups = group.cgroups;
});
afterEach(() => group.remove());

describeOnKernel('cgroups of this kernel', 'any', () => {
  test('a written cpuset is in the file and moves the process', async () => {
    const dir = group.make('/c1');
    const child = await group.run('/c1', 'sleep', '60');
    expect(allowed(cgroups.listThreads(dir))).toEqual(['0-1']);
    expect(cgroups.writeCpuset(dir, cpus('1'))).toEqual(ok(true));
    expect(group.text('/c1', 'cpuset.cpus')).toBe('1');
    expect(cgroups.listThreads(dir)).toEqual({
      kind: 'found',
      threads: [{ tid: child.pid, pid: child.pid, name: 'sleep', allowed: CpuSet.of([1]) }],
      more: false,
      hidden: 0,
    });
  });

  test('readCpuset has configured and effective sets', () => {
    const dir = group.make('/c1', '1');
    const show = (value: object): unknown => JSON.parse(JSON.stringify(value));
    expect(show(cgroups.readCpuset(dir))).toEqual({
      kind: 'found',
      cpus: '1',
      effectiveCpus: '1',
      mems: '0',
      effectiveMems: '0',
    });
    expect(show(cgroups.readCpus(dir))).toEqual({ kind: 'found', cpus: '1', effectiveCpus: '1' });
  });

  test('the active CPUs of the root are the online CPUs', () => {
    expect(cgroups.readActive()?.toString()).toBe(readFileSync('/sys/devices/system/cpu/online', 'utf8').trim());
  });

  test('an unchanged value is not written', () => {
    const dir = group.make('/c1');
    expect(cgroups.writeCpuset(dir, cpus('1'))).toEqual(ok(true));
    expect(cgroups.writeCpuset(dir, cpus('1'))).toEqual(ok(false));
    expect(cgroups.writeCpuset(dir, { mems: CpuSet.of([0]) })).toEqual(ok(false));
    expect(cgroups.writeCpuset(dir, { ...cpus('0'), mems: CpuSet.of([0]) })).toEqual(ok(true));
    expect(cgroups.writeCpuset(dir, {})).toEqual(ok(false));
  });

  test('an empty set is refused and not written', () => {
    const dir = group.make('/c1', '1');
    expect(cgroups.writeCpuset(dir, { cpus: CpuSet.empty })).toMatchObject({ kind: 'refused', errno: 'EINVAL' });
    expect(cgroups.writeCpuset(dir, { mems: CpuSet.empty })).toMatchObject({ kind: 'refused', errno: 'EINVAL' });
    expect([group.text('/c1', 'cpuset.cpus'), group.text('/c1', 'cpuset.mems')]).toEqual(['1', '0']);
  });

  test.each`
    name                                        | change                             | errno
    ${'a CPU above the kernel’s limit'}         | ${cpus('60000')}                   | ${'ERANGE'}
    ${'a memory node above the kernel’s limit'} | ${{ mems: parseCpuList('60000') }} | ${'ERANGE'}
  `('the kernel refuses $name; the reason has file and value', ({ change, errno }) => {
    const dir = group.make('/c1', '1');
    expect(cgroups.writeCpuset(dir, change)).toEqual({
      kind: 'refused',
      errno,
      because: expect.stringMatching(
        /c1\/cpuset\.(cpus|mems): writing "60000" was refused: ERANGE, a number is higher/,
      ),
    });
    expect(group.text('/c1', 'cpuset.cpus')).toBe('1');
  });

  test('a missing cgroup is gone for all reads and writes', () => {
    const dir = group.make('/c1');
    group.removeDir('/c1');
    expect(cgroups.readCpus(dir)).toEqual({ kind: 'gone' });
    expect(cgroups.readCpuset(dir)).toEqual({ kind: 'gone' });
    expect(cgroups.writeCpuset(dir, cpus('1'))).toEqual({ kind: 'gone' });
    expect(cgroups.readQuota(dir)).toEqual({ kind: 'gone' });
    expect(cgroups.writeQuota(dir, { quotaUs: -1 })).toEqual({ kind: 'gone' });
    expect(cgroups.listThreads(dir)).toEqual({ kind: 'gone' });
  });

  test('threads are listed with their process, at most the requested number', async () => {
    const dir = group.make('/c1', '0');
    const child = await group.run('/c1', process.execPath, '-e', 'setInterval(() => {}, 1000)');
    const list = (maxThreads?: number): ThreadsReading & { kind: 'found' } => {
      const reading = cgroups.listThreads(dir, maxThreads === undefined ? {} : { maxThreads });
      if (reading.kind !== 'found') throw new Error(JSON.stringify(reading));
      return reading;
    };
    await waitUntil('Node has started its threads', () => list().threads.length > 4);
    expect(new Set(list().threads.map(({ pid }) => pid))).toEqual(new Set([child.pid]));
    expect(allowed(list())).toEqual(['0']);
    expect(list().more).toBe(false);
    const few = list(2);
    expect(few.threads).toHaveLength(2);
    expect(few.more).toBe(true);
  });

  test("a thread's own affinity limits its allowed CPUs", async () => {
    const dir = group.make('/c1');
    await group.run('/c1', 'taskset', '-c', '1', 'sleep', '60');
    await waitUntil('taskset has set the affinity', () => allowed(cgroups.listThreads(dir)).join() === '1');
  });

  test('the quotas of a container and of its pod are lifted and set again', () => {
    const pod = group.make('/pod');
    const container = group.make('/pod/c1');
    const set = (quotaUs: number, periodUs?: number): WriteOutcome[] =>
      [pod, container].map((dir) => cgroups.writeQuota(dir, { quotaUs, ...(periodUs ? { periodUs } : {}) }));
    const read = (): unknown[] => [cgroups.readQuota(pod), cgroups.readQuota(container)];
    const both = (quotaUs: number, periodUs: number): unknown[] => Array(2).fill({ kind: 'found', quotaUs, periodUs });
    expect(read()).toEqual(both(-1, 100000));
    expect([set(150000, 50000), read()]).toEqual([[ok(true), ok(true)], both(150000, 50000)]);
    expect([set(150000), read()]).toEqual([[ok(false), ok(false)], both(150000, 50000)]);
    expect([set(-1), read()]).toEqual([[ok(true), ok(true)], both(-1, 50000)]);
    expect(cgroups.writeQuota(container, { quotaUs: 1 })).toMatchObject({ kind: 'refused', errno: 'EINVAL' });
  });
});

describeOnKernel('nested cgroups of version 1', 1, () => {
  // In version 2 with controllers enabled, only leaf cgroups have processes.
  test('threads in child cgroups are listed too', async () => {
    const dir = group.make('/c1');
    const child = await group.run('/c1', 'sleep', '60');
    group.make('/c1/inner');
    const inner = await group.run('/c1/inner', 'sleep', '60');
    const reading = cgroups.listThreads(dir);
    expect(reading.kind === 'found' && reading.threads.map(({ pid }) => pid)).toEqual([child.pid, inner.pid]);
  });

  test.each`
    name                                                                           | before   | children                          | list     | after
    ${'a child with all CPUs shrinks with its parent'}                             | ${'0-1'} | ${{ '/a': '0-1' }}                | ${'0'}   | ${{ '/a': '0' }}
    ${'a child with all CPUs grows with its parent'}                               | ${'0'}   | ${{ '/a': '0' }}                  | ${'0-1'} | ${{ '/a': '0-1' }}
    ${'a child with all CPUs moves with its parent'}                               | ${'0'}   | ${{ '/a': '0' }}                  | ${'1'}   | ${{ '/a': '1' }}
    ${'a child with some of the CPUs keeps them'}                                  | ${'0-1'} | ${{ '/a': '1' }}                  | ${'1'}   | ${{ '/a': '1' }}
    ${'a child whose CPUs are all removed gets those of its parent'}               | ${'0-1'} | ${{ '/a': '1' }}                  | ${'0'}   | ${{ '/a': '0' }}
    ${'a child with all CPUs and one with removed CPUs get those of their parent'} | ${'0-1'} | ${{ '/a': '0-1', '/b': '0' }}     | ${'1'}   | ${{ '/a': '1', '/b': '1' }}
    ${'grandchildren shrink before their parents'}                                 | ${'0-1'} | ${{ '/a': '0-1', '/a/b': '0-1' }} | ${'1'}   | ${{ '/a': '1', '/a/b': '1' }}
    ${'grandchildren grow after their parents'}                                    | ${'0'}   | ${{ '/a': '0', '/a/b': '0' }}     | ${'0-1'} | ${{ '/a': '0-1', '/a/b': '0-1' }}
    ${'grandchildren with some of the CPUs keep them'}                             | ${'0-1'} | ${{ '/a': '0-1', '/a/b': '1' }}   | ${'1'}   | ${{ '/a': '1', '/a/b': '1' }}
    ${'a child with some of the CPUs does not grow'}                               | ${'0-1'} | ${{ '/a': '0-1', '/a/b': '1' }}   | ${'0-1'} | ${{ '/a': '0-1', '/a/b': '1' }}
  `('$name', async ({ before, children, list, after }) => {
    const dir = group.make('/c1', before);
    for (const [below, value] of Object.entries(children as Record<string, string>)) {
      group.make(`/c1${below}`, value);
      await group.run(`/c1${below}`, 'sleep', '60');
    }
    expect(cgroups.writeCpuset(dir, cpus(list))).toEqual(ok(before !== list));
    expect(group.text('/c1', 'cpuset.cpus')).toBe(list);
    const now = Object.keys(children as object).map((below) => [below, group.text(`/c1${below}`, 'cpuset.cpus')]);
    expect(Object.fromEntries(now)).toEqual(after);
  });

  test('a child without CPUs is not written', () => {
    const dir = group.make('/c1', '0');
    mkdirSync(group.file('/c1', 'new'));
    expect(cgroups.writeCpuset(dir, cpus('1'))).toEqual(ok(true));
    expect(group.text('/c1/new', 'cpuset.cpus')).toBe('');
  });

  test.each<[string, readonly string[], Record<string, string>]>([
    ['their own lists', ['0', '0-1'], { '/a': '0', '/b': '1', '/all': '0-1', '/all/c': '1' }],
    ['their own lists after two moves', ['0', '1', '0-1'], { '/a': '0', '/b': '1', '/all': '0-1', '/all/c': '1' }],
    ['their own lists after their parent had others only', ['1', '0-1'], { '/a': '0', '/a/d': '0', '/b': '1' }],
  ])('cgroups in a container have again: %s', async (_name, lists, children) => {
    const dir = group.make('/c1', '0-1');
    for (const [below, value] of Object.entries(children)) {
      group.make(`/c1${below}`, value);
      await group.run(`/c1${below}`, 'sleep', '60');
    }
    for (const list of lists) expect(cgroups.writeCpuset(dir, cpus(list))).toEqual(ok(true));
    const now = Object.keys(children).map((below) => [below, group.text(`/c1${below}`, 'cpuset.cpus')]);
    expect(Object.fromEntries(now)).toEqual(children);
    expect(cgroups.inner.lists).toEqual([]);
  });

  test('a list that somebody writes into a cgroup while it is narrowed is its own from then on', () => {
    const dir = group.make('/c1', '0-1');
    group.make('/c1/a', '1');
    cgroups.writeCpuset(dir, cpus('0'));
    expect(group.text('/c1/a', 'cpuset.cpus')).toBe('0');
    cgroups.writeCpuset(dir, cpus('0-1'));
    writeFileSync(group.file('/c1/a', 'cpuset.cpus'), '0');
    cgroups.writeCpuset(dir, cpus('1'));
    cgroups.writeCpuset(dir, cpus('0-1'));
    expect(group.text('/c1/a', 'cpuset.cpus')).toBe('0');
  });

  test('another process of cpusetd that knows the lists gives them back', () => {
    const dir = group.make('/c1', '0-1');
    for (const [below, value] of [['/a', '0'], ['/b', '1'], ['/all', '0-1']] as const) group.make(`/c1${below}`, value); // prettier-ignore
    cgroups.writeCpuset(dir, cpus('0'));
    const other = openCgroups({ cgroupRoot: '/sys/fs/cgroup', nowMs: () => 0 });
    for (const list of cgroups.inner.lists) other.inner.remember(list);
    other.writeCpuset(dir, cpus('0-1'));
    expect(['/a', '/b', '/all'].map((below) => group.text(`/c1${below}`, 'cpuset.cpus'))).toEqual(['0', '1', '0-1']);
  });

  test('a CPU that the parent lacks is refused with the parent’s name, and accepted after the parent is widened', () => {
    group.make('/pod1', '0-1');
    const dir = group.make('/pod1/c1', '0');
    writeFileSync(group.file('/pod1', 'cpuset.cpus'), '0');
    const outcome = cgroups.writeCpuset(dir, cpus('0-1'));
    expect(outcome).toMatchObject({ kind: 'refused', errno: 'EACCES' });
    expect(outcome.kind === 'refused' && outcome.because).toMatch(/-test-rw-\d+\/pod1 has "0" only\)$/);
    expect(cgroups.widen({ top: group.dir, below: [] }, parseCpuList('0-1'))).toEqual(ok(true));
    expect(cgroups.widen({ top: group.dir, below: [] }, parseCpuList('0-1'))).toEqual(ok(false));
    expect(cgroups.writeCpuset(dir, cpus('0-1'))).toEqual(ok(true));
  });

  describe('widen', () => {
    const lists = (...below: string[]) => below.map((each) => group.text(each, 'cpuset.cpus'));
    const tree = () => ({
      top: `${group.dir}/op/kubepods`,
      below: [`${group.dir}/op/kubepods/burstable`, '/not/there'],
    });

    test('reaches the cgroups of pods from the top down, and no container', () => {
      for (const below of ['/op/kubepods/pod1', '/op/kubepods/burstable/pod2/c']) makeAll(below, '0-1', '0');
      expect(cgroups.widen(tree(), parseCpuList('1'))).toEqual(ok(true));
      expect(
        lists('/op/kubepods', '/op/kubepods/pod1', '/op/kubepods/burstable', '/op/kubepods/burstable/pod2'),
      ).toEqual(Array(4).fill('0-1'));
      expect(lists('/op/kubepods/burstable/pod2/c')).toEqual(['0']);
    });

    test('leaves cgroups alone that the kubelet did not make, and all below them', () => {
      makeAll('/op/kubepods/own/pod1', '0-1', '0');
      expect(cgroups.widen(tree(), parseCpuList('1'))).toEqual(ok(true));
      expect(lists('/op/kubepods', '/op/kubepods/own', '/op/kubepods/own/pod1')).toEqual(['0-1', '0', '0']);
    });

    test('a pod’s cgroup that has no CPUs yet gets all of the one above, as from a runtime', () => {
      makeAll('/op/kubepods', '0-1', '0');
      mkdirSync(group.file('/op/kubepods', 'pod1'));
      expect(cgroups.widen(tree(), parseCpuList('1'))).toEqual(ok(true));
      expect(lists('/op/kubepods/pod1')).toEqual(['0-1']);
    });

    test('gives nothing that the cgroup above lacks, and leaves that as it is', () => {
      makeAll('/op/kubepods/burstable', '0', '0');
      expect(cgroups.widen(tree(), parseCpuList('0-1'))).toEqual(ok(false));
      expect(lists('/op', '/op/kubepods', '/op/kubepods/burstable')).toEqual(['0', '0', '0']);
    });

    test('of a tree that is not there is gone', () => {
      expect(cgroups.widen(tree(), parseCpuList('1'))).toEqual({ kind: 'gone' });
      group.make('/op');
      expect(cgroups.widen(tree(), parseCpuList('1'))).toEqual({ kind: 'gone' });
    });

    /** Makes a path of cgroups: the first with `top`, the others with `cpus`. */
    function makeAll(path: string, top: string, list: string): void {
      const names = path.split('/').slice(1);
      for (const i of names.keys()) {
        const below = `/${names.slice(0, i + 1).join('/')}`;
        if (!existsSync(group.file(below, 'cpuset.cpus'))) group.make(below, i === 0 ? top : list);
      }
    }
  });

  test('more child cgroups than the limit are refused, and follow in later rounds', () => {
    const dir = group.make('/c1', '0');
    for (let i = 0; i <= 1000; i++) group.make(`/c1/n${i}`, '0');
    expect(cgroups.writeCpuset(dir, cpus('1'))).toMatchObject({ kind: 'refused', errno: 'E2BIG' });
    expect(group.text('/c1', 'cpuset.cpus')).toBe('0-1');
    expect(cgroups.writeCpuset(dir, cpus('1'))).toEqual(ok(true));
    expect(group.text('/c1', 'cpuset.cpus')).toBe('1');
  });
});

describeOnKernel('probing', 1, () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'cgroup-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test('a writable hierarchy is writable, and nothing changes', () => {
    group.make('/c1', '1');
    expect(cgroups.probeWritable()).toEqual({ writable: true });
    expect(group.text('/c1', 'cpuset.cpus')).toBe('1');
  });

  test('a read-only mount is not writable', () => {
    mkdirSync(join(folder, 'cpuset'));
    const run = (command: string, ...args: string[]): void => {
      const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' });
      if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`);
    };
    run('mount', '--bind', '/sys/fs/cgroup/cpuset', join(folder, 'cpuset'));
    try {
      run('mount', '-o', 'remount,bind,ro', join(folder, 'cpuset'));
      const readOnly = openCgroups({ cgroupRoot: folder });
      expect(readOnly.probeWritable()).toEqual({
        writable: false,
        because: expect.stringMatching(
          /cpuset\.cpus cannot be opened for writing \(EROFS\): mount .* --cgroup-writes off$/,
        ),
      });
      expect(readOnly.writeCpuset(group.dir, cpus('0'))).toMatchObject({
        kind: 'refused',
        errno: 'EROFS',
        because: expect.stringContaining('the cgroup file system is mounted read-only'),
      });
    } finally {
      run('umount', join(folder, 'cpuset'));
    }
  });
});
