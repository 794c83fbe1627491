import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseCpuList } from '../../../src/core/cpuset';
import { CgroupError, openCgroups, type Cgroups } from '../../../src/host';

// The files of both cgroup versions in plain folders. real-cgroups.test.ts tests writes to the kernel.

const DIR = '/kubepods.slice/kubepods-podx.slice/cri-containerd-c1.scope';
const V2_ROOT = { 'cgroup.controllers': 'cpuset cpu io memory hugetlb pids rdma misc\n' };
const V2 = {
  ...V2_ROOT,
  [`${DIR}/cpuset.cpus`]: '2-3\n',
  [`${DIR}/cpuset.cpus.effective`]: '2\n',
  [`${DIR}/cpuset.mems`]: '\n',
  [`${DIR}/cpuset.mems.effective`]: '0-1\n',
  [`${DIR}/cpu.max`]: '200000 100000\n',
  [`${DIR}/cgroup.threads`]: '11\n12\n99\n',
};
const V1 = {
  'cpuset/cpuset.cpus': '0-3\n',
  'cpuset/tasks': '1\n',
  [`cpuset${DIR}/cpuset.cpus`]: '2-3\n',
  [`cpuset${DIR}/cpuset.effective_cpus`]: '2\n',
  [`cpuset${DIR}/cpuset.mems`]: '0\n',
  [`cpuset${DIR}/cpuset.effective_mems`]: '0\n',
  [`cpuset${DIR}/tasks`]: '11\n12\n',
  'cpu,cpuacct/cpu.shares': '1024\n',
  [`cpu,cpuacct${DIR}/cpu.cfs_quota_us`]: '-1\n',
  [`cpu,cpuacct${DIR}/cpu.cfs_period_us`]: '100000\n',
};
const STATUS = 'Name:\tsleep\nTgid:\t11\nPid:\t12\nCpus_allowed:\tc\nCpus_allowed_list:\t2-3\nMems_allowed:\t1\n';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cgroup-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function open(files: Readonly<Record<string, string>>): Cgroups {
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }
  return openCgroups({ cgroupRoot: folder, procRoot: join(folder, 'proc') });
}

const show = (value: object): unknown => JSON.parse(JSON.stringify(value));

describe('the version of the hierarchy', () => {
  test.each`
    name                                            | files                                                   | version
    ${'version 2 alone'}                            | ${V2}                                                   | ${2}
    ${'version 1 alone'}                            | ${V1}                                                   | ${1}
    ${'hybrid: version 2 at unified'}               | ${{ ...V1, 'unified/cgroup.controllers': 'hugetlb\n' }} | ${1}
    ${'a folder "cpuset" in a version 2 hierarchy'} | ${{ ...V2, 'cpuset/cpuset.cpus': '\n' }}                | ${2}
  `('$name', ({ files, version }) => {
    expect(open(files).version).toBe(version);
  });

  test.each`
    name                                         | files                                            | want
    ${'an empty folder'}                         | ${{}}                                            | ${/neither cpuset\/cpuset\.cpus \(cgroup version 1\) nor cgroup\.controllers .* --cgroup-root$/}
    ${'version 1 without cpuset'}                | ${{ 'cpu/cpu.shares': '1024\n' }}                | ${/neither cpuset\/cpuset\.cpus/}
    ${'hybrid without cpuset'}                   | ${{ 'unified/cgroup.controllers': 'hugetlb\n' }} | ${/neither cpuset\/cpuset\.cpus/}
    ${'version 2 without the controller'}        | ${{ 'cgroup.controllers': 'cpu memory\n' }}      | ${/cgroup\.controllers: read "cpu memory" without "cpuset"; .*mount the node's own/}
    ${'version 2 without any controller'}        | ${{ 'cgroup.controllers': '\n' }}                | ${/read "" without "cpuset"/}
    ${'a controller whose name contains cpuset'} | ${{ 'cgroup.controllers': 'cpusets xcpuset\n' }} | ${/without "cpuset"/}
  `('openCgroups refuses $name', ({ files, want }) => {
    expect(() => open(files)).toThrow(CgroupError);
    expect(() => open(files)).toThrow(want);
  });
});

describe('reading', () => {
  test('version 2: configured and effective sets differ while a CPU is offline', () => {
    expect(show(open(V2).readCpuset(DIR))).toEqual({
      kind: 'found',
      cpus: '2-3',
      effectiveCpus: '2',
      mems: '',
      effectiveMems: '0-1',
    });
  });

  test('version 2: a cgroup without cpus of its own follows its parent', () => {
    const cgroups = open({ ...V2, [`${DIR}/cpuset.cpus`]: '\n', [`${DIR}/cpuset.cpus.effective`]: '0-15\n' });
    expect(show(cgroups.readCpus(DIR))).toEqual({ kind: 'found', cpus: '', effectiveCpus: '0-15' });
  });

  test.each`
    name                           | files                                                 | active
    ${'version 2'}                 | ${{ ...V2, 'cpuset.cpus.effective': '0-2,4-15\n' }}   | ${'0-2,4-15'}
    ${'version 1'}                 | ${{ ...V1, 'cpuset/cpuset.effective_cpus': '0-2\n' }} | ${'0-2'}
    ${'a root that can’t be read'} | ${V2}                                                 | ${undefined}
  `('readActive reads the root: $name', ({ files, active }) => {
    expect(open(files).readActive()?.toString()).toBe(active);
  });

  test('version 1: the same from files of other names', () => {
    expect(show(open(V1).readCpuset(DIR))).toEqual({
      kind: 'found',
      cpus: '2-3',
      effectiveCpus: '2',
      mems: '0',
      effectiveMems: '0',
    });
  });

  test.each`
    name                  | files                                           | want
    ${'garbage'}          | ${{ [`${DIR}/cpuset.cpus`]: 'all\n' }}          | ${/cpuset\.cpus: read "all"; a list like 0-3,8 is expected$/}
    ${'a reversed range'} | ${{ [`${DIR}/cpuset.cpus.effective`]: '3-2' }}  | ${/cpuset\.cpus\.effective: read "3-2"/}
    ${'a mask'}           | ${{ [`${DIR}/cpuset.mems`]: '00ff\n' }}         | ${/cpuset\.mems: read "00ff"/}
    ${'two lines'}        | ${{ [`${DIR}/cpuset.mems`]: '0\n1\n' }}         | ${/cpuset\.mems: read "0\n1"/}
    ${'a very long text'} | ${{ [`${DIR}/cpuset.cpus`]: '1,'.repeat(1e5) }} | ${/read "(1,)+1?\.\.\."/}
  `('$name in a file is an error with the text that was read', ({ files, want }) => {
    expect(open({ ...V2, ...files }).readCpuset(DIR)).toEqual({
      kind: 'error',
      errno: 'EBADMSG',
      because: expect.stringMatching(want),
    });
  });

  test('a disabled controller is an error with its name, and not a missing container', () => {
    const cgroups = open(V2_ROOT);
    mkdirSync(join(folder, DIR), { recursive: true });
    const because = expect.stringMatching(/cpuset\.cpus: reading failed: ENOENT, the controller is not enabled/);
    expect(cgroups.readCpus(DIR)).toEqual({ kind: 'error', errno: 'ENOENT', because });
    expect(cgroups.writeCpuset(DIR, { cpus: parseCpuList('1') })).toEqual({
      kind: 'refused',
      errno: 'ENOENT',
      because,
    });
  });
});

describe('writing, version 2', () => {
  test('writes the value to the file, and leaves child cgroups to the kernel', () => {
    const cgroups = open({ ...V2, [`${DIR}/inner/cpuset.cpus`]: '2-3\n' });
    expect(cgroups.writeCpuset(DIR, { cpus: parseCpuList('0,7,9') })).toEqual({ kind: 'ok', changed: true });
    expect(readFileSync(join(folder, DIR, 'cpuset.cpus'), 'utf8')).toBe('0,7,9');
    expect(readFileSync(join(folder, DIR, 'inner/cpuset.cpus'), 'utf8')).toBe('2-3\n');
  });

  test('does not widen', () => {
    expect(open(V2).widen({ top: DIR, below: [] }, parseCpuList('0-9'))).toEqual({ kind: 'ok', changed: false });
  });
});

describe('quota', () => {
  test.each`
    name                          | files                                                         | want
    ${'version 2, a limit'}       | ${V2}                                                         | ${{ kind: 'found', quotaUs: 200000, periodUs: 100000 }}
    ${'version 2, no limit'}      | ${{ ...V2, [`${DIR}/cpu.max`]: 'max 50000\n' }}               | ${{ kind: 'found', quotaUs: -1, periodUs: 50000 }}
    ${'version 1, no limit'}      | ${V1}                                                         | ${{ kind: 'found', quotaUs: -1, periodUs: 100000 }}
    ${'version 2, one number'}    | ${{ ...V2, [`${DIR}/cpu.max`]: '1000\n' }}                    | ${{ kind: 'error', errno: 'EBADMSG' }}
    ${'version 2, a sign'}        | ${{ ...V2, [`${DIR}/cpu.max`]: '-1 1000\n' }}                 | ${{ kind: 'error', errno: 'EBADMSG' }}
    ${'version 2, an empty file'} | ${{ ...V2, [`${DIR}/cpu.max`]: '' }}                          | ${{ kind: 'error', errno: 'EBADMSG' }}
    ${'version 1, a word'}        | ${{ ...V1, [`cpu,cpuacct${DIR}/cpu.cfs_quota_us`]: 'max\n' }} | ${{ kind: 'error', errno: 'EBADMSG' }}
  `('$name', ({ files, want }) => {
    expect(open(files).readQuota(DIR)).toMatchObject(want);
  });

  test.each`
    wanted                                   | file
    ${{ quotaUs: -1 }}                       | ${'max 100000'}
    ${{ quotaUs: 350000 }}                   | ${'350000 100000'}
    ${{ quotaUs: 350000, periodUs: 250000 }} | ${'350000 250000'}
  `('version 2 gets $file for $wanted', ({ wanted, file }) => {
    const cgroups = open({ ...V2, [`${DIR}/cpu.max`]: '1 100000' });
    expect(cgroups.writeQuota(DIR, wanted)).toEqual({ kind: 'ok', changed: true });
    expect(readFileSync(join(folder, DIR, 'cpu.max'), 'utf8')).toBe(file);
    expect(cgroups.writeQuota(DIR, wanted)).toEqual({ kind: 'ok', changed: false });
  });

  test('version 1 without the cpu controller: an error with its name', () => {
    const cgroups = open({ 'cpuset/cpuset.cpus': '0\n', 'cpuset/tasks': '' });
    const why = { errno: 'ENODEV', because: expect.stringContaining('the cpu controller is not mounted') };
    expect(cgroups.readQuota(DIR)).toEqual({ kind: 'error', ...why });
    expect(cgroups.writeQuota(DIR, { quotaUs: -1 })).toEqual({ kind: 'refused', ...why });
  });
});

describe('threads', () => {
  test.each([
    ['version 2', V2],
    ['version 1', V1],
  ])('%s: threads that ended meanwhile are skipped', (_, files) => {
    const cgroups = open({ ...files, 'proc/11/status': STATUS, 'proc/12/status': STATUS });
    expect(show(cgroups.listThreads(DIR))).toEqual({
      kind: 'found',
      threads: [
        { tid: 11, pid: 11, name: 'sleep', allowed: '2-3' },
        { tid: 12, pid: 11, name: 'sleep', allowed: '2-3' },
      ],
      more: false,
      hidden: 0,
    });
  });

  test('threads of another PID namespace are counted as hidden', () => {
    const cgroups = open({ ...V2, [`${DIR}/cgroup.threads`]: '0\n0\n11\n', 'proc/11/status': STATUS });
    expect(cgroups.listThreads(DIR)).toMatchObject({ kind: 'found', hidden: 2, threads: [{ tid: 11 }] });
  });

  test('of 100,000 threads only the requested number is read', () => {
    const all = Array.from({ length: 100_000 }, (_, i) => `${1_000_000 + i}\n`).join('');
    const cgroups = open({ ...V2, [`${DIR}/cgroup.threads`]: all, 'proc/1000002/status': STATUS });
    const reading = cgroups.listThreads(DIR, { maxThreads: 3 });
    expect(reading).toMatchObject({ kind: 'found', more: true, threads: [{ tid: 1_000_002 }] });
  });

  test.each`
    name                    | status
    ${'without Tgid'}       | ${'Cpus_allowed_list:\t0\n'}
    ${'without a list'}     | ${'Tgid:\t11\n'}
    ${'with a broken list'} | ${'Tgid:\t11\nCpus_allowed_list:\tx\n'}
    ${'that is empty'}      | ${''}
  `('a thread status $name is an error', ({ status }) => {
    const cgroups = open({ ...V2, 'proc/11/status': status });
    expect(cgroups.listThreads(DIR)).toMatchObject({ kind: 'error', errno: 'EBADMSG' });
  });
});

describe('probing', () => {
  test('a hierarchy without cgroups: the root directory decides', () => {
    expect(open(V2_ROOT).probeWritable()).toEqual({ writable: true });
  });

  test('a cgroup without the controller is skipped', () => {
    const cgroups = open({ ...V2_ROOT, 'a.slice/cgroup.procs': '' });
    mkdirSync(join(folder, 'b.slice/cpuset.cpus'), { recursive: true });
    expect(cgroups.probeWritable()).toEqual({
      writable: false,
      because: expect.stringContaining('/b.slice/cpuset.cpus'),
    });
  });

  test('the cgroup of the kubelet is tried first', () => {
    const cgroups = open({ ...V2_ROOT, 'a.slice/cpuset.cpus': '', 'z.slice/cpuset.cpus': '' });
    mkdirSync(join(folder, 'kubepods.slice/cpuset.cpus'), { recursive: true }); // a folder can't be opened for writing
    expect(cgroups.probeWritable()).toEqual({
      writable: false,
      because: expect.stringMatching(/kubepods\.slice\/cpuset\.cpus cannot be opened for writing \(EISDIR\)/),
    });
  });
});

test('of the cgroups of pods, one that can’t be written does not keep CPUs from the others', () => {
  const root = 'cpuset/kubepods';
  const lists = { 'cpuset/cpuset.cpus': '0-3\n', [`${root}/cpuset.cpus`]: '0-2\n', [`${root}/pod-a/cpuset.cpus`]: 'x\n', [`${root}/pod-b/cpuset.cpus`]: '0-2\n' }; // prettier-ignore
  const cgroups = open({ ...V1, ...lists });
  expect(cgroups.widen({ top: '/kubepods', below: [] }, parseCpuList('3'))).toMatchObject({ kind: 'refused', errno: 'EBADMSG' }); // prettier-ignore
  expect(readFileSync(join(folder, root, 'pod-b/cpuset.cpus'), 'utf8')).toMatch(/^0-3/);
});
