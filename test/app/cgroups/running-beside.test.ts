import { once } from 'node:events';
import { addRunningBeside } from '../../../src/app/cgroups/running-beside';
import type { CpuResources, NodeEvent } from '../../../src/core/model/events';
import { openCgroups, type Cgroups } from '../../../src/host';
import { NodeDriver } from '../../core/transition/node-driver';
import { readable } from '../../support/container-cgroups';
import { KernelCgroups } from '../../support/container-cgroups-on-kernel';
import { describeOnKernel } from '../../host/cgroup/test-cgroup';

const OF_POD: CpuResources = { shares: 4096, quotaUs: 400_000, periodUs: 100_000, memoryLimitBytes: 1 << 28 };

/** A node on which a container with the numbers of its pod runs in this cgroup, and the creation of another one. */
function creationBeside(cgroupsPath: string, next = OF_POD) {
  const node = new NodeDriver();
  node.podFields.set('p', { podResources: OF_POD });
  node.bringing.set('p/a', OF_POD).set('p/b', next);
  node.run('make p/a 0');
  const first = node.container('p/a')!;
  node.model.apply({ kind: 'put-container', container: { ...first, cgroupsPath } });
  node.run('know p/b 0');
  const event: NodeEvent = { kind: 'create-container', ...node.infoOf('p/b') };
  return (cgroups: Cgroups) => addRunningBeside(event, node.model, readable(cgroups));
}

describeOnKernel('on this kernel', 'any', () => {
  test('a container with a process runs, and one whose process has ended does not', async () => {
    const kernel = new KernelCgroups(`/cpusetd-test-beside-${process.pid}`);
    try {
      const path = kernel.make('a', '0');
      const look = creationBeside(path);
      const cgroups = openCgroups({ cgroupRoot: '/sys/fs/cgroup' });
      expect(look(cgroups)).not.toHaveProperty('runsBeside');
      const child = await kernel.run(path, 'sleep', '600');
      expect(look(cgroups)).toHaveProperty('runsBeside', ['p/a#1']);
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
      expect(look(cgroups)).not.toHaveProperty('runsBeside');
    } finally {
      await kernel.remove();
    }
  });
});

test.each`
  name                                    | list                                                      | runs
  ${'processes of another PID namespace'} | ${{ kind: 'found', threads: [], more: false, hidden: 1 }} | ${true}
  ${'no process'}                         | ${{ kind: 'found', threads: [], more: false, hidden: 0 }} | ${false}
  ${'a list that can’t be read'}          | ${{ kind: 'error', errno: 'EIO', because: 'EIO' }}        | ${false}
  ${'no cgroup'}                          | ${{ kind: 'gone' }}                                       | ${false}
`('a container with $name: runs $runs', ({ list, runs }: { list: object; runs: boolean }) => {
  const seen = creationBeside('/kubepods/podp/a')({ listThreads: () => list } as unknown as Cgroups);
  expect('runsBeside' in seen).toBe(runs);
});

test('nothing is read where the processes do not decide', () => {
  const cgroups = { listThreads: () => { throw new Error('read'); } } as unknown as Cgroups; // prettier-ignore
  expect(creationBeside('/kubepods/podp/a', { shares: 2 })(cgroups)).not.toHaveProperty('runsBeside');
});
