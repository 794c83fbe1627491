import { StatusFeed } from '../../../src/app/status/status-feed';
import type { ContainerStatus, Status, StatusChange } from '../../../src/admin/model/status';
import { parseCpuList } from '../../../src/core/cpuset';
import { container, sampleStatus } from '../../admin/sample-status';
import { silentFaults } from '../../support/faults';

const shared = (id: string, pod = id): ContainerStatus =>
  container({ id, pod, container: 'c', placement: 'shared', requested: 0 });
const turn = (): Promise<void> => new Promise(setImmediate);

/** A feed of a status that is replaced, what was told, and how often the status was asked for. */
function watched(first: Status) {
  let current: Status | 'broken' = first;
  let looks = 0;
  const told: StatusChange[] = [];
  const feed = new StatusFeed(() => {
    looks += 1;
    if (current === 'broken') throw new Error('a fault of our own');
    return current;
  }, silentFaults());
  return { feed, told, set: (next: Status | 'broken') => (current = next), looks: () => looks };
}

test('costs nothing while nobody watches, and one look a turn however often it is touched', async () => {
  const { feed, looks } = watched(sampleStatus);
  for (let i = 0; i < 100; i++) feed.touch();
  await turn();
  expect(looks()).toBe(0);
  const stop = feed.watch(() => undefined);
  const before = looks();
  for (let i = 0; i < 100; i++) feed.touch();
  await turn();
  expect(looks()).toBe(before + 1);
  stop();
  feed.touch();
  await turn();
  expect(looks()).toBe(before + 1);
});

test('tells what is new, what has changed and what has gone, each once', async () => {
  const [a, b, c] = [shared('a'), shared('b'), shared('c')];
  const { feed, told, set } = watched({ ...sampleStatus, containers: [a, b] });
  feed.watch((change) => told.push(change));
  const changed = { ...b, because: 'another reason' };
  const node = { ...sampleStatus.node, sharedPool: parseCpuList('0') };
  set({ node, containers: [changed, c], idle: [] });
  feed.touch();
  await turn();
  expect(told).toEqual([
    { kind: 'node', node },
    { kind: 'container', container: changed },
    { kind: 'container', container: c },
    { kind: 'container-removed', id: 'a' },
    { kind: 'idle', idle: [] },
  ]);
  told.length = 0;
  feed.touch();
  await turn();
  expect(told).toEqual([]);
});

test('another object that means the same, and the time of a look, are no change', async () => {
  const { feed, told, set } = watched(sampleStatus);
  feed.watch((change) => told.push(change));
  const again = sampleStatus.containers.map((of): ContainerStatus => ({
    ...of,
    ...(of.promise && { promise: { ...of.promise, cpus: parseCpuList(of.promise.cpus.toString()) } }),
    ...(of.observation && { observation: { ...of.observation, at: '2027-01-01T00:00:00Z' } }),
  }));
  set({ node: { ...sampleStatus.node }, containers: again, idle: [...sampleStatus.idle] });
  feed.touch();
  await turn();
  expect(told).toEqual([]);
});

test('of a change of one among thousands only that one is read', async () => {
  let reads = 0;
  const counted = (of: ContainerStatus): ContainerStatus =>
    new Proxy(of, { ownKeys: (target) => ((reads += 1), Reflect.ownKeys(target)) });
  const many = Array.from({ length: 5_000 }, (_, i) => counted(shared(`c${i}`)));
  const { feed, told, set } = watched({ ...sampleStatus, containers: many });
  feed.watch((change) => told.push(change));
  const next = [...many];
  next[7] = counted({ ...shared('c7'), because: 'another reason' });
  set({ ...sampleStatus, containers: next });
  feed.touch();
  await turn();
  expect(told).toHaveLength(1);
  expect(reads).toBeLessThan(10);
});

test('a status that can not be had ends nothing, and what has changed is told when it can', async () => {
  const { feed, told, set } = watched({ ...sampleStatus, containers: [shared('a')] });
  feed.watch((change) => told.push(change));
  set('broken');
  feed.touch();
  await turn();
  expect(told).toEqual([]);
  set({ ...sampleStatus, containers: [] });
  feed.touch();
  await turn();
  expect(told).toEqual([{ kind: 'container-removed', id: 'a' }]);
});

test('a watcher that fails keeps no other from hearing', async () => {
  const { feed, told, set } = watched({ ...sampleStatus, containers: [shared('a'), shared('b')] });
  feed.watch(() => {
    throw new Error('a fault of our own');
  });
  feed.watch((change) => told.push(change));
  set({ ...sampleStatus, containers: [] });
  feed.touch();
  await turn();
  expect(told).toHaveLength(2);
});
