import { readFileSync, writeFileSync } from 'node:fs';
import { describeOnKernel, TestCgroup } from './test-cgroup';

describeOnKernel('reclaimTasks', 1, () => {
  let group: TestCgroup;
  beforeEach(() => {
    group = new TestCgroup('reclaim');
  });
  afterEach(() => group.remove());

  const cpusetOf = (pid: number): string => /\d+:cpuset:(.*)/.exec(readFileSync(`/proc/${pid}/cgroup`, 'utf8'))![1]!;

  test('brings back processes that the kernel moved to the parent, and leaves the others', async () => {
    const [pod, left, there] = [group.make('/pod'), group.make('/pod/strayed'), group.make('/pod/there')];
    const processes = [
      await group.run('/pod/strayed', 'sleep', '1000'),
      await group.run('/pod/there', 'sleep', '1000'),
    ];
    for (const [i, below] of ['/pod/strayed', '/pod/there'].entries())
      writeFileSync(group.file(below, 'cpu.shares').replace('cpu.shares', 'cgroup.procs'), `${processes[i]!.pid!}`);
    // The kernel does this when the last CPU of a cpuset goes offline.
    writeFileSync(group.file('/pod', 'cgroup.procs'), `${processes[0]!.pid!}`);
    expect(cpusetOf(processes[0]!.pid!)).toBe(pod);

    expect(group.cgroups.reclaimTasks(placeOf(left))).toEqual({ kind: 'ok', changed: true });
    expect(cpusetOf(processes[0]!.pid!)).toBe(left);
    for (const dir of [left, there])
      expect(group.cgroups.reclaimTasks(placeOf(dir))).toEqual({ kind: 'ok', changed: false });
    expect(group.cgroups.reclaimTasks(placeOf(`${pod}/gone`))).toEqual({ kind: 'gone' });
  });
});

function placeOf(path: string): { readonly path: string; readonly cpuPath: string } {
  return { path, cpuPath: path };
}
