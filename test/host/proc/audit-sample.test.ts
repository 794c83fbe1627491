import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import { findProcesses, readAuditSample, readTaskSamples, visitTasks } from '../../../src/host/proc/audit-sample';
import { TimeSlices } from '../../../src/host/proc/time-slices';
import { useTempDirs } from '../../state/support/temp-dir';

const makeDir = useTempDirs();
const all = parseCpuList('0-1023');
const id = (digit: string): string => digit.repeat(64);

function writeProcess(root: string, pid: number, cgroup: string): void {
  const dir = join(root, `${pid}/task/${pid}`);
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(root, `${pid}/cgroup`), cgroup);
  writeFileSync(join(dir, 'stat'), `${pid} (app) S ${Array<number>(40).fill(0).join(' ')}`);
  writeFileSync(join(dir, 'status'), 'Cpus_allowed_list:\t0-3\n');
}

test.each`
  name                              | cgroup                                                                                | want
  ${'cgroup v2, systemd driver'}    | ${`0::/kubepods.slice/kubepods-podu1.slice/cri-containerd-${id('a')}.scope\n`}        | ${[id('a')]}
  ${'cgroup v2 seen from a pod'}    | ${`0::/../../kubepods-podu1.slice/cri-containerd-${id('a')}.scope\n`}                 | ${[id('a')]}
  ${'cgroup v1, a line each'}       | ${`5:cpuset:/kubepods/podu1/${id('b')}\n1:name=systemd:/kubepods/podu1/${id('b')}\n`} | ${[id('b')]}
  ${'CRI-O'}                        | ${`0::/kubepods.slice/crio-${id('c')}.scope/container\n`}                             | ${[id('c')]}
  ${"CRI-O's monitor is not in it"} | ${`0::/kubepods.slice/crio-conmon-${id('c')}.scope\n`}                                | ${undefined}
  ${'a container in a container'}   | ${`0::/kubepods/podu1/${id('d')}/docker/${id('e')}\n`}                                | ${[id('d'), id('e')]}
  ${'a service of the host'}        | ${'0::/system.slice/containerd.service\n'}                                            | ${undefined}
`('containers of a process: $name', async ({ cgroup, want }: { cgroup: string; want: string[] | undefined }) => {
  const root = makeDir();
  writeProcess(root, 5, cgroup);
  const [task] = await readTaskSamples({ within: all, procRoot: root });
  expect(task).toMatchObject({ pid: 5, allowed: expect.any(CpuSet) });
  expect(task!.containerIds).toEqual(want);
});

test('processes that end while they are read are left out', async () => {
  const root = makeDir();
  writeProcess(root, 5, '');
  mkdirSync(join(root, '6')); // no threads any more
  expect(await readTaskSamples({ within: all, pids: [4, 5, 6], procRoot: root })).toMatchObject([{ pid: 5 }]);
});

test('a process of each container is found, whatever CPUs it may run on', async () => {
  const root = makeDir();
  writeProcess(root, 5, `0::/kubepods/podu1/${id('a')}\n`);
  writeProcess(root, 6, `0::/kubepods/podu1/${id('a')}/init\n`);
  writeProcess(root, 7, `0::/kubepods/podu2/${id('b')}\n`);
  writeProcess(root, 8, '0::/system.slice/x.service\n');
  mkdirSync(join(root, '9')); // it has ended
  const found = await findProcesses(new Set([id('a'), id('b'), id('c')]), new TimeSlices(1_000), root);
  expect([5, 6]).toContain(found.get(id('a')));
  expect(found.get(id('b'))).toBe(7);
  expect(found.size).toBe(2);
  expect((await findProcesses(new Set(), new TimeSlices(1_000), '/nonexistent')).size).toBe(0);
});

test('others have a turn between the parts', async () => {
  const root = makeDir();
  for (let pid = 10; pid < 20; pid++) writeProcess(root, pid, '');
  const order: string[] = [];
  setImmediate(() => order.push('other'));
  await visitTasks({ within: all, procRoot: root }, new TimeSlices(0), ({ pid }) => order.push(String(pid)));
  expect(order).toContain('other');
  expect(order.indexOf('other')).toBeLessThan(order.length - 1);
});

test('this machine: a process that runs meanwhile has a later start, and time that grows', async () => {
  const before = await readAuditSample({ within: all });
  const child = spawn(process.execPath, ['-e', 'process.stdout.write("x"); for (;;);'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  try {
    await once(child.stdout, 'data');
    const sample = async () =>
      (await readTaskSamples({ within: all, pids: [child.pid!] })).find(({ tid }) => tid === child.pid)!;
    const first = await sample();
    let later = first;
    while (later.runNs === first.runNs) later = await sample();
    expect(first.startTicks).toBeGreaterThanOrEqual(before.atTicks);
    expect(later.startTicks).toBe(first.startTicks);
    expect(before.tasks.some(({ pid }) => pid === process.pid)).toBe(true);
  } finally {
    child.kill('SIGKILL');
    await once(child, 'close');
  }
});
