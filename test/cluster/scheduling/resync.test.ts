import { waitUntil } from '../../support/wait-until';
import { requireApiServer } from '../../e2e/rig/api-server';
import { Cluster } from './rig/cluster';
import { FakeNode } from './rig/fake-node';
import { fingerprintOf, totalAvailable } from './rig/objects';
import { type PluginLog, wasForgotten } from './rig/plugin-log';

jest.setTimeout(600_000);

/** Two NUMA nodes of 8 CPUs; CPU 0 is reserved. */
const machine = '2x4x2-2numa';
const node = 'node-a';

requireApiServer('scheduler-plugins')('The cache of kube-scheduler-plugins and the fingerprint of cpusetd', () => {
  let cluster: Cluster;
  let fake: FakeNode;
  const others: FakeNode[] = [];

  beforeAll(async () => {
    cluster = await Cluster.start();
    fake = await FakeNode.start({ cluster, name: node, machine });
    await waitUntil('the topology', () => cluster.topologies.byName.has(node));
  });
  afterAll(async () => {
    await fake?.stop();
    await cluster?.stop();
  });
  afterEach(async () => {
    for (const other of others.splice(0)) await other.stop();
    await cluster.removeAll();
    await cluster.stopScheduler('kube-scheduler-plugins');
    fake.kubelet.refusals.length = 0;
  });

  const start = (informerMode: 'Dedicated' | 'Shared') =>
    cluster.startTopologyScheduler({ informerMode, cacheResyncPeriodSeconds: 1 });
  const run = async (name: string, cpus: number): Promise<void> => {
    await cluster.create({ name, cpus, onNode: node });
    await cluster.reaches(name, 'Running');
  };
  const isVisible = (available: number): boolean => totalAvailable(cluster.topologies.byName.get(node)!) === available;
  const refused = (log: PluginLog, pod: string, from: number) =>
    log.waitFor(`${pod} to be refused`, (event) => event.kind === 'refused' && event.pod === pod, from);
  const flushed = (log: PluginLog, from: number) =>
    log.waitFor('a flush', (event) => event.kind === 'flushed' && event.node === node, from);

  /**
   * Binds a pod, so that its CPUs are reserved on both NUMA nodes; a second one, for which there is room, is then
   * refused, and the cache is due for a resync. Gives the position in the log after that refusal.
   */
  const makeDirty = async (log: PluginLog, left: number): Promise<number> => {
    await run('first', 4);
    await waitUntil('its CPUs to be visible', () => isVisible(left - 4));
    const from = log.update();
    await cluster.create({ name: 'second', cpus: 5, onNode: node });
    const at = await refused(log, 'second', from);
    expect(await fake.fits(5)).toBe(true);
    return at;
  };

  /**
   * Checks that the plugin's fingerprint is the published one, and that the pod that was refused is then bound and
   * runs.
   */
  const expectResync = async (log: PluginLog, from: number): Promise<void> => {
    const at = await flushed(log, from);
    const [compared] = log.about(node, ['compared'], from).slice(-1);
    expect(compared).toMatchObject({ expected: fingerprintOf(cluster.topologies.byName.get(node)!) });
    expect(compared).toMatchObject({ computed: (compared as { expected: string }).expected });
    expect(at).toBeGreaterThan(from);
    await cluster.changeTopology(node);
    await cluster.reaches('second', 'Running');
  };

  describe.each([
    { informerMode: 'Dedicated', own: 'dedicated', other: 'shared' },
    { informerMode: 'Shared', own: 'shared', other: 'dedicated' },
  ] as const)('informerMode $informerMode', ({ informerMode, own, other }) => {
    beforeEach(() => fake.restartDaemon('--topology-pod-fingerprint', own));

    test('finished pods are on the node: the fingerprints match', async () => {
      const log = await start(informerMode);
      for (const [name, phase] of [
        ['done', 'Succeeded'],
        ['broken', 'Failed'],
      ] as const) {
        await run(name, 1);
        await fake.kubelet.finish(cluster.pods.byName.get(name)!, phase);
        await cluster.reaches(name, phase);
      }
      await waitUntil('their CPUs to be free', () => isVisible(15));
      await expectResync(log, await makeDirty(log, 15));
    });

    test('the image of a bound pod is being pulled: the fingerprints match, and its CPUs are not offered', async () => {
      const log = await start(informerMode);
      let release = (): void => undefined;
      fake.kubelet.pulls.set('pulling', new Promise((resolve) => (release = resolve)));
      await cluster.create({ name: 'pulling', cpus: 3, onNode: node });
      await waitUntil('it is bound', () => cluster.pods.byName.get('pulling')?.spec.nodeName === node);
      await waitUntil('its CPUs to be visible', () => isVisible(12));
      await expectResync(log, await makeDirty(log, 12));
      release();
      await cluster.reaches('pulling', 'Running');
      expect(fake.kubelet.refusals).toEqual([]);
    });

    test('pods of another scheduler are on the node: no pod is sent there until the fingerprints match', async () => {
      const log = await start(informerMode);
      const from = log.update();
      await cluster.create({ name: 'foreign', cpus: 2, boundTo: node, scheduler: 'another' });
      await cluster.reaches('foreign', 'Running');
      await log.waitFor('it is noticed', (event) => event.kind === 'foreign' && event.node === node, from);
      await flushed(log, log.update());
      await waitUntil('its CPUs to be visible', () => isVisible(13));
      await expectResync(log, await makeDirty(log, 13));
    });

    test('--topology-pod-fingerprint has the other mode and a finished pod is on the node: the fingerprints never match', async () => {
      await fake.restartDaemon('--topology-pod-fingerprint', other);
      const log = await start(informerMode);
      await run('done', 1);
      await fake.kubelet.finish(cluster.pods.byName.get('done')!, 'Succeeded');
      await cluster.reaches('done', 'Succeeded');
      const from = await makeDirty(log, 15);
      for (let n = 0; n < 3; n++) await log.resync();
      const found = log.about(node, ['compared', 'flushed'], from);
      expect(found.length).toBeGreaterThan(2);
      for (const event of found) {
        expect(event.kind).toBe('compared');
        expect(event).not.toMatchObject({ computed: (event as { expected: string }).expected });
      }
      const retried = log.update();
      await cluster.changeTopology(node);
      await refused(log, 'second', retried);
      expect(await fake.fits(5)).toBe(true);
    });
  });

  test('a bound pod cannot get its CPUs: there is no fingerprint, and no flush, until it is deleted', async () => {
    const log = await start('Dedicated');
    await run('small', 1);
    await cluster.create({ name: 'large', cpus: 9, boundTo: node, scheduler: 'another' });
    await waitUntil('it is refused', () => fake.kubelet.refusals.length > 0);
    const from = log.update();
    for (let n = 0; n < 3; n++) await log.resync();
    const found = log.about(node, ['withheld', 'compared', 'flushed'], from).map(({ kind }) => kind);
    expect(found.length).toBeGreaterThan(2);
    expect(new Set(found)).toEqual(new Set(['withheld']));
    await cluster.remove('large');
    await flushed(log, log.update());
    await run('next', 5);
  });

  test('the cache was flushed: a Pending pod is not retried before the next change of a NodeResourceTopology', async () => {
    const log = await start('Dedicated');
    const from = await makeDirty(log, 15);
    const at = await flushed(log, from);
    for (let n = 0; n < 3; n++) await log.resync();
    expect(log.last('refused', 'second')).toBeLessThan(at);
    expect(log.last('bound', 'second')).toBe(-1);
    await cluster.changeTopology(node);
    await cluster.reaches('second', 'Running');
  });

  test('the fingerprints match before cpusetd knows bound pods: the plugin forgets them, and a later pod is refused by cpusetd', async () => {
    const log = await start('Dedicated');
    await cluster.create({ name: 'system', cpus: 0, boundTo: node, scheduler: 'another' });
    await cluster.reaches('system', 'Running');
    await flushed(log, 0);
    const daemon = fake.pause();
    // There are 7 and 8 CPUs.
    const names = ['one', 'two', 'three'];
    for (const name of names) await cluster.create({ name, cpus: 5, onNode: node });
    await waitUntil('all to be bound', async () => {
      await log.resync();
      await cluster.changeTopology(node);
      return names.every((name) => log.last('bound', name) >= 0);
    });
    for (const name of ['one', 'two']) expect(wasForgotten(log, node, name, log.last('reserved', 'three'))).toBe(true);
    daemon.resume();
    const count = () => names.filter((name) => cluster.pods.byName.get(name)?.status.phase === 'Running').length;
    await waitUntil('all are decided', () => count() + fake.kubelet.refusals.length === names.length);
    expect(fake.kubelet.refusals).toHaveLength(1);
  });

  test('no pod is left on a node: its cache is not flushed until one runs there', async () => {
    const log = await start('Dedicated');
    await run('first', 8);
    await cluster.remove('first');
    await waitUntil('its CPUs to be free', () => isVisible(15));
    const from = log.update();
    await cluster.create({ name: 'second', cpus: 5, onNode: node });
    await refused(log, 'second', from);
    for (let n = 0; n < 3; n++) await log.resync();
    expect(log.about(node, ['compared', 'flushed'], from)).toEqual([]);
    expect(await fake.fits(5)).toBe(true);

    await cluster.create({ name: 'system', cpus: 0, boundTo: node, scheduler: 'another' });
    await cluster.reaches('system', 'Running');
    await flushed(log, from);
    await cluster.changeTopology(node);
    await cluster.reaches('second', 'Running');
  });

  test('a node joins after the start of the scheduler: it is not filtered before the scheduler starts again', async () => {
    await start('Dedicated');
    const late = await FakeNode.start({ cluster, name: 'node-late', machine });
    others.push(late);
    await waitUntil('the topology', () => cluster.topologies.byName.has('node-late'));
    await cluster.create({ name: 'large', cpus: 9, onNode: 'node-late' });
    await waitUntil('it is refused by cpusetd', () => late.kubelet.refusals.length > 0);
    await cluster.remove('large');

    await cluster.stopScheduler('kube-scheduler-plugins');
    const log = await start('Dedicated');
    await cluster.create({ name: 'large', cpus: 9, onNode: 'node-late' });
    await refused(log, 'large', 0);
    expect(late.kubelet.refusals).toHaveLength(1);
    await cluster.remove('large');
  });

  test('without the cache, three pods are bound before the object changes: the one for which no NUMA node has room is refused by cpusetd', async () => {
    const log = await cluster.startTopologyScheduler({ cacheResyncPeriodSeconds: 0 });
    const daemon = fake.pause();
    const names = ['one', 'two', 'three'];
    for (const name of names) await cluster.create({ name, cpus: 5, onNode: node });
    for (const name of names)
      await log.waitFor(`${name} to be bound`, (event) => event.kind === 'bound' && event.pod === name);
    daemon.resume();
    const count = () => names.filter((name) => cluster.pods.byName.get(name)?.status.phase === 'Running').length;
    await waitUntil('all are decided', () => count() + fake.kubelet.refusals.length === names.length);
    expect(fake.kubelet.refusals).toHaveLength(1);
  });
});
