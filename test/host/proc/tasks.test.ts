import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CpuSet, parseCpuList } from '../../../src/core/cpuset';
import { listPids, listTids, readCgroupsOf, readTask, seesAllTasks } from '../../../src/host/proc/tasks';
import { useTempDirs } from '../../state/support/temp-dir';

const makeDir = useTempDirs();
const all = parseCpuList('0-1023');
const readTasks = (pid: number, within: CpuSet, root?: string) =>
  listTids(pid, root).flatMap((tid) => readTask(pid, tid, within, root) ?? []);

/** Fields 3 to 39 of /proc/PID/stat: flags are the ninth field, the start is the 22nd, the last CPU is the 39th. */
const statOf = (tid: number, name: string, flags: number, lastCpu: number): string =>
  `${tid} (${name}) S 1 ${tid} ${tid} 0 -1 ${flags} ${Array<number>(12).fill(0).join(' ')} 777 ${Array<number>(16).fill(0).join(' ')} ${lastCpu} 0 0`;

function writeTask(
  root: string,
  pid: number,
  tid: number,
  { name = 'app', flags = 0, lastCpu = 0, allowed = '0-3', schedstat = '10 20 3' },
): void {
  const dir = join(root, `${pid}/task/${tid}`);
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'stat'), statOf(tid, name, flags, lastCpu));
  writeFileSync(
    join(dir, 'status'),
    `Name:\t${name}\nCpus_allowed_list:\t${allowed}\nnonvoluntary_ctxt_switches:\t7\n`,
  );
  writeFileSync(join(dir, 'schedstat'), `${schedstat}\n`);
}

test('the threads of a process, whatever its name', () => {
  const root = makeDir();
  writeTask(root, 10, 10, { name: 'a) R 1 (b', lastCpu: 3, allowed: '1,3' });
  writeTask(root, 10, 11, { name: 'worker', schedstat: '' });
  const [first, second] = readTasks(10, all, root);
  expect({ ...first, allowed: first!.allowed.toString() }).toEqual({
    pid: 10,
    tid: 10,
    name: 'a) R 1 (b',
    isKernelThread: false,
    isFixed: false,
    allowed: '1,3',
    lastCpu: 3,
    startTicks: 777,
    runNs: 10,
    waitNs: 20,
    preemptions: 7,
  });
  expect(second).toMatchObject({ tid: 11, runNs: 0, waitNs: 0 });
});

test('threads of the kernel are told by their flag', () => {
  const root = makeDir();
  writeTask(root, 2, 2, { name: 'kworker/0:1', flags: 0x04208060, allowed: '0' });
  expect(readTasks(2, all, root)).toMatchObject([{ name: 'kworker/0:1', isKernelThread: true, isFixed: true }]);
  writeTask(root, 3, 3, { name: 'rcu_preempt', flags: 0x00208040 });
  expect(readTasks(3, all, root)).toMatchObject([{ isKernelThread: true, isFixed: false }]);
});

test('threads that may not run on the CPUs in question are left out', () => {
  const root = makeDir();
  writeTask(root, 10, 10, { allowed: '0-1' });
  writeTask(root, 10, 11, { allowed: '1-2' });
  expect(readTasks(10, parseCpuList('2-3'), root).map(({ tid }) => tid)).toEqual([11]);
});

test.each`
  name                                  | process2                                 | want
  ${'the first PID namespace'}          | ${{ name: 'kthreadd', flags: 0x208040 }} | ${true}
  ${'the PID namespace of a container'} | ${{ name: 'node', flags: 0x400040 }}     | ${false}
  ${'other processes are hidden'}       | ${undefined}                             | ${false}
`(
  'all threads are visible: $name',
  ({ process2, want }: { process2?: { name: string; flags: number }; want: boolean }) => {
    const root = makeDir();
    if (process2) {
      writeTask(root, 2, 2, process2);
      writeFileSync(join(root, '2/stat'), statOf(2, process2.name, process2.flags, 0));
    }
    expect(seesAllTasks(root)).toBe(want);
  },
);

test('a process that can not be read for a reason other than its end is an error', () => {
  const root = makeDir();
  writeTask(root, 10, 10, {});
  mkdirSync(join(root, '11'));
  writeFileSync(join(root, '11/task'), ''); // ENOTDIR
  expect(() => readTasks(11, all, root)).toThrow('ENOTDIR');
});

test('a file that is longer than others is read in whole', () => {
  const root = makeDir();
  mkdirSync(join(root, '7'));
  const text = `0::/${'x'.repeat(9_000)}\n`;
  writeFileSync(join(root, '7/cgroup'), text);
  expect(readCgroupsOf(7, root)).toBe(text);
});

test('a process that has ended has no threads and no cgroups', () => {
  const root = makeDir();
  mkdirSync(join(root, '5/task/5'), { recursive: true });
  expect(readTasks(5, all, root)).toEqual([]);
  expect(readTasks(6, all, root)).toEqual([]);
  expect(readCgroupsOf(6, root)).toBe('');
});

test('this process is found on this machine', () => {
  expect(listPids()).toContain(process.pid);
  const own = readTasks(process.pid, all);
  expect(own.find(({ tid }) => tid === process.pid)).toMatchObject({
    isKernelThread: false,
    lastCpu: expect.any(Number),
  });
  expect(own.some(({ runNs }) => runNs > 0)).toBe(true);
  expect(readCgroupsOf(process.pid)).not.toBe('');
});
