import { StatusFeed } from '../../../src/app/status/status-feed';
import type { ContainerStatus, Status, StatusChange } from '../../../src/admin/model/status';
import { parseCpuList } from '../../../src/core/cpuset';
import { container, sampleStatus } from '../../admin/sample-status';
import { silentFaults } from '../../support/faults';

const shared = (id: string, pod = id): ContainerStatus =>
  container({ id, pod, container: 'c', placement: 'shared', requested: 0 });
const turn = (): Promise<void> => new Promise(setImmediate);

/** A feed of a status that the test replaces, the changes it reported, and how often it read the status. */
function watched(first: Status) {
  let current: Status | 'broken' = first;
  let reads = 0;
  const changes: StatusChange[] = [];
  const feed = new StatusFeed(() => {
    reads += 1;
    if (current === 'broken') throw new Error('an internal fault');
    return current;
  }, silentFaults());
  return { feed, changes, set: (next: Status | 'broken') => (current = next), reads: () => reads };
}

test('without a watcher the status is not read; with one, it is read once per turn', async () => {
  const { feed, reads } = watched(sampleStatus);
  for (let i = 0; i < 100; i++) feed.touch();
  await turn();
  expect(reads()).toBe(0);
  const stop = feed.watch(() => undefined);
  const before = reads();
  for (let i = 0; i < 100; i++) feed.touch();
  await turn();
  expect(reads()).toBe(before + 1);
  stop();
  feed.touch();
  await turn();
  expect(reads()).toBe(before + 1);
});

test('new, changed and removed containers are reported once each', async () => {
  const [a, b, c] = [shared('a'), shared('b'), shared('c')];
  const { feed, changes, set } = watched({ ...sampleStatus, containers: [a, b] });
  feed.watch((change) => changes.push(change));
  const changed = { ...b, because: 'another reason' };
  const node = { ...sampleStatus.node, sharedPool: parseCpuList('0') };
  set({ node, containers: [changed, c], idle: [] });
  feed.touch();
  await turn();
  expect(changes).toEqual([
    { kind: 'node', node },
    { kind: 'container', container: changed },
    { kind: 'container', container: c },
    { kind: 'container-removed', id: 'a' },
    { kind: 'idle', idle: [] },
  ]);
  changes.length = 0;
  feed.touch();
  await turn();
  expect(changes).toEqual([]);
});

test('an equal object, or another observation time, is no change', async () => {
  const { feed, changes, set } = watched(sampleStatus);
  feed.watch((change) => changes.push(change));
  const again = sampleStatus.containers.map((container): ContainerStatus => ({
    ...container,
    ...(container.promise && {
      promise: { ...container.promise, cpus: parseCpuList(container.promise.cpus.toString()) },
    }),
    ...(container.observation && { observation: { ...container.observation, at: '2027-01-01T00:00:00Z' } }),
  }));
  set({ node: { ...sampleStatus.node }, containers: again, idle: [...sampleStatus.idle] });
  feed.touch();
  await turn();
  expect(changes).toEqual([]);
});

test('one change among thousands of containers reads only that container', async () => {
  let reads = 0;
  const counted = (container: ContainerStatus): ContainerStatus =>
    new Proxy(container, { ownKeys: (target) => ((reads += 1), Reflect.ownKeys(target)) });
  const many = Array.from({ length: 5_000 }, (_, i) => counted(shared(`c${i}`)));
  const { feed, changes, set } = watched({ ...sampleStatus, containers: many });
  feed.watch((change) => changes.push(change));
  const next = [...many];
  next[7] = counted({ ...shared('c7'), because: 'another reason' });
  set({ ...sampleStatus, containers: next });
  feed.touch();
  await turn();
  expect(changes).toHaveLength(1);
  expect(reads).toBeLessThan(10);
});

test('a status that throws is skipped, and the change is reported by the next read', async () => {
  const { feed, changes, set } = watched({ ...sampleStatus, containers: [shared('a')] });
  feed.watch((change) => changes.push(change));
  set('broken');
  feed.touch();
  await turn();
  expect(changes).toEqual([]);
  set({ ...sampleStatus, containers: [] });
  feed.touch();
  await turn();
  expect(changes).toEqual([{ kind: 'container-removed', id: 'a' }]);
});

test('a watcher that throws does not affect the others', async () => {
  const { feed, changes, set } = watched({ ...sampleStatus, containers: [shared('a'), shared('b')] });
  feed.watch(() => {
    throw new Error('an internal fault');
  });
  feed.watch((change) => changes.push(change));
  set({ ...sampleStatus, containers: [] });
  feed.touch();
  await turn();
  expect(changes).toHaveLength(2);
});
