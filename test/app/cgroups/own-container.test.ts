import { addOwnContainer } from '../../../src/app/cgroups/own-container';
import type { ContainerInfo, NodeEvent } from '../../../src/core/model/events';
import { openCgroups, type Cgroups } from '../../../src/host';
import { describeOnKernel } from '../../host/cgroup/test-cgroup';
import { readable } from '../../support/container-cgroups';
import { KernelCgroups } from '../../support/container-cgroups-on-kernel';

const containerAt = (cgroupsPath: string, more: Partial<ContainerInfo> = {}): ContainerInfo => ({
  id: `id of ${cgroupsPath}`,
  sandboxId: 's',
  name: 'cpusetd',
  phase: 'running',
  cgroupsPath,
  resources: {},
  ...more,
});
const listOf = (...containers: ContainerInfo[]): NodeEvent => ({ kind: 'synchronize', pods: [], containers });
const unknown = { containers: new Map() };
const ownOf = (event: NodeEvent): string | undefined => (event.kind === 'synchronize' ? event.own : undefined);

describeOnKernel('on this kernel', 'any', () => {
  test('it is the container whose cgroup has the process, whatever its name is', async () => {
    const kernel = new KernelCgroups(`/cpusetd-test-own-${process.pid}`);
    try {
      const [own, other] = [kernel.make('own', '0'), kernel.make('other', '0')];
      const child = await kernel.run(own, 'sleep', '600');
      await kernel.run(other, 'sleep', '600');
      const cgroups = readable(openCgroups({ cgroupRoot: '/sys/fs/cgroup' }));
      const event = listOf(containerAt(other), containerAt(own, { name: 'main' }));
      expect(ownOf(addOwnContainer(event, unknown, cgroups, child.pid))).toBe(`id of ${own}`);
      expect(addOwnContainer(event, unknown, cgroups)).toBe(event); // this process is in neither
    } finally {
      await kernel.remove();
    }
  });
});

const listing = (ids: readonly string[]) =>
  readable({ listProcesses: () => ({ kind: 'found', ids, more: false, hidden: 0 }) } as unknown as Cgroups);

test.each`
  name                                            | container                                 | ids           | own
  ${'its cgroup has the process'}                 | ${containerAt('/a')}                      | ${['7', '1']} | ${'id of /a'}
  ${'its cgroup has others'}                      | ${containerAt('/a')}                      | ${['11']}     | ${undefined}
  ${'its processes are of another PID namespace'} | ${containerAt('/a')}                      | ${[]}         | ${undefined}
  ${'it does not run'}                            | ${containerAt('/a', { phase: 'exited' })} | ${['1']}      | ${undefined}
`(
  'process 1; a container of which $name',
  ({ container, ids, own }: { container: ContainerInfo; ids: string[]; own?: string }) => {
    expect(ownOf(addOwnContainer(listOf(container), unknown, listing(ids), 1))).toBe(own);
  },
);

test.each([{ kind: 'gone' }, { kind: 'error', errno: 'EIO', because: 'EIO' }])(
  'a cgroup that is %j is no own one',
  (list) => {
    const cgroups = readable({ listProcesses: () => list } as unknown as Cgroups);
    expect(ownOf(addOwnContainer(listOf(containerAt('/a')), unknown, cgroups, 1))).toBeUndefined();
  },
);

test('containers that are known are not read: nothing that the runtime lists of them is news', () => {
  const container = containerAt('/a');
  const view = { containers: new Map([[container.id, {}]]) } as unknown as Parameters<typeof addOwnContainer>[1];
  expect(ownOf(addOwnContainer(listOf(container), view, listing(['1']), 1))).toBeUndefined();
});
