import type { Container } from '../../../src/core/model/container';
import type { NodeView } from '../../../src/core/model/node-view';
import { listContainers, listUndecidable } from '../../../src/qos/avoidance/list-containers';
import type { Throttle } from '../../../src/qos/avoidance/situation';
import type { QosPod } from '../../../src/qos/objects/objects';

const containerOf = (given: Partial<Container>): Container =>
  ({
    id: 'c',
    name: 'main',
    podUid: 'u',
    phase: 'running',
    cgroupsPath: '/c',
    placement: 'shared',
    entitledCpus: 0,
    ...given,
  }) as Container;
const POD = { uid: 'u', runtimeUid: 'u' } as QosPod;
const viewOf = (...containers: Container[]): Pick<NodeView, 'containersOf'> => ({ containersOf: () => containers });

test.each`
  name                           | given                                           | isPinned
  ${'plain'}                     | ${{}}                                           | ${false}
  ${'of a pod that is not ours'} | ${{ placement: 'left-alone' }}                  | ${false}
  ${'left alone on request'}     | ${{ placement: 'left-alone', leftAlone: true }} | ${true}
  ${'with exclusive CPUs'}       | ${{ placement: 'exclusive' }}                   | ${true}
  ${'with a managed quota'}      | ${{ quota: {} }}                                | ${true}
  ${'that waits for CPUs'}       | ${{ waitingSince: '2026-01-01T00:00:00Z' }}     | ${true}
  ${'entitled to CPUs'}          | ${{ entitledCpus: 2 }}                          | ${true}
`('a container $name: pinned is $isPinned', ({ given, isPinned }: { given: Partial<Container>; isPinned: boolean }) => {
  expect(listContainers(viewOf(containerOf(given)), [POD], new Map())).toEqual([
    { id: 'c', name: 'main', podUid: 'u', isPinned },
  ]);
});

test('the last use and quota of a container come with it; a pause container is left out', () => {
  const metrics = new Map(
    Object.entries({
      container_cpu_total_usage: 1.5,
      container_mem_total_usage: 7,
      container_cpu_quota: 200_000,
      container_cpu_period: 100_000,
    }).map(([name, value]) => [name, [{ labels: { ContainerId: 'c' }, value, atMs: 0 }]]),
  );
  const pause = containerOf({ id: 'p', pause: {} });
  expect(listContainers(viewOf(containerOf({}), pause), [POD], metrics)).toEqual([
    {
      id: 'c',
      name: 'main',
      podUid: 'u',
      isPinned: false,
      milliCpu: 1_500,
      memoryBytes: 7,
      quotaUs: 200_000,
      periodUs: 100_000,
    },
  ]);
});

test.each`
  name                                | container                     | pods     | want
  ${'its pod is known'}               | ${{}}                         | ${[POD]} | ${false}
  ${'the API server has no such pod'} | ${{}}                         | ${[]}    | ${true}
  ${'it has exclusive CPUs since'}    | ${{ placement: 'exclusive' }} | ${[POD]} | ${true}
  ${'its quota is managed since'}     | ${{ quota: {} }}              | ${[]}    | ${false}
  ${'it has ended'}                   | ${{ phase: 'stopped' }}       | ${[]}    | ${false}
  ${'it is gone'}                     | ${undefined}                  | ${[]}    | ${false}
`('a throttle is undecidable: $name: $want', ({ container, pods, want }) => {
  const found = container as Partial<Container> | undefined;
  const containers = new Map(found ? [['c', containerOf(found)]] : []);
  const throttle = { id: 'c', podUid: 'u' } as Throttle;
  expect(listUndecidable([throttle], pods as QosPod[], containers)).toEqual(want === true ? [throttle] : []);
});
