import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { listPids, readCgroupsOf, readTasks } from '../../src/host/tasks';
import { useTempDirs } from '../state/support/temp-dir';

const makeDir = useTempDirs();

/** Fields 3 to 39 of /proc/PID/stat: flags are the ninth field, the last CPU is the 39th. */
const statOf = (tid: number, name: string, flags: number, lastCpu: number): string =>
  `${tid} (${name}) S 1 ${tid} ${tid} 0 -1 ${flags} ${Array<number>(29).fill(0).join(' ')} ${lastCpu} 0 0`;

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
  const [first, second] = readTasks(10, root);
  expect({ ...first, allowed: first!.allowed.toString() }).toEqual({
    ...{ pid: 10, tid: 10, name: 'a) R 1 (b', isKernelThread: false, allowed: '1,3', lastCpu: 3 },
    ...{ runNs: 10, waitNs: 20, preemptions: 7 },
  });
  expect(second).toMatchObject({ tid: 11, runNs: 0, waitNs: 0 });
});

test('threads of the kernel are told by their flag', () => {
  const root = makeDir();
  writeTask(root, 2, 2, { name: 'kworker/0:1', flags: 0x04208060, allowed: '0' });
  expect(readTasks(2, root)).toMatchObject([{ name: 'kworker/0:1', isKernelThread: true }]);
});

test('a process that has ended has no threads and no cgroups', () => {
  const root = makeDir();
  mkdirSync(join(root, '5/task/5'), { recursive: true });
  expect(readTasks(5, root)).toEqual([]);
  expect(readTasks(6, root)).toEqual([]);
  expect(readCgroupsOf(6, root)).toBe('');
});

test('this process is found on this machine', () => {
  expect(listPids()).toContain(process.pid);
  const own = readTasks(process.pid);
  expect(own.find(({ tid }) => tid === process.pid)).toMatchObject({
    isKernelThread: false,
    lastCpu: expect.any(Number),
  });
  expect(own.some(({ runNs }) => runNs > 0)).toBe(true);
  expect(readCgroupsOf(process.pid)).not.toBe('');
});
