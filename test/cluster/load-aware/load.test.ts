import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { requireApiServer } from '../../e2e/rig/api-server';
import type { LogLine } from '../../e2e/rig/bundle-process';
import { waitUntil } from '../../support/wait-until';
import { Cluster, schedulingManifests } from '../scheduling/rig/cluster';
import { createNode } from '../scheduling/rig/create-node';
import { type ApiObject, ObjectTable } from '../scheduling/rig/object-table';
import { nodesPath, type Pod } from '../scheduling/rig/objects';
import { Annotator } from './rig/annotator';
import { Exporters } from './rig/exporters';
import { ask, Extender } from './rig/extender';
import { ProcessClock } from './rig/process-clock';
import { Prometheus } from './rig/prometheus';
import { formatSchedulerConfig } from './rig/scheduler-config';

jest.setTimeout(600_000);

const names = ['node-a', 'node-b', 'node-c', 'node-d'];
const addressOf = (node: string): string => `10.0.0.${names.indexOf(node) + 1}`;
const instanceOf = (node: string): string => `${addressOf(node)}:9100`;
const timeZone = 'Europe/Berlin';

/**
 * Crane's policy with short periods: load of the last seconds, half CPU and half memory. Each pod makes its node hotter
 * for ten seconds.
 */
const policy = {
  apiVersion: 'scheduler.policy.crane.io/v1alpha1',
  kind: 'DynamicSchedulerPolicy',
  spec: {
    syncPolicy: [
      { name: 'cpu_usage_avg_5m', period: '500ms' },
      { name: 'mem_usage_avg_5m', period: '500ms' },
    ],
    predicate: [{ name: 'cpu_usage_avg_5m', maxLimitPecent: 0.65 }],
    priority: [
      { name: 'cpu_usage_avg_5m', weight: 0.5 },
      { name: 'mem_usage_avg_5m', weight: 0.5 },
    ],
    hotValue: [{ timeRange: '10s', count: 1 }],
  },
};

requireApiServer()('annotator, Prometheus, kube-scheduler and extender', () => {
  let cluster: Cluster;
  let exporters: Exporters;
  let prometheus: Prometheus;
  let annotator: Annotator;
  let extender: Extender;
  let nodes: ObjectTable<ApiObject>;
  const folder = mkdtempSync(join(tmpdir(), 'cpusetd-load-'));

  beforeAll(async () => {
    cluster = await Cluster.start({ kind: 'crane', manifests: schedulingManifests });
    const { client, signal } = cluster;
    for (const name of names) await createNode(client, { name, cpus: 64, memoryMib: 65_536, address: addressOf(name) });
    nodes = new ObjectTable<ApiObject>({ client, signal, path: nodesPath });
    exporters = await Exporters.start();
    for (const node of names) exporters.set(node, { cpu: 0.2, memory: 0.2 });
    prometheus = await Prometheus.start(
      exporters.port,
      names.map((node) => ({ node, instance: instanceOf(node) })),
    );
    const policyFile = join(folder, 'policy.yaml');
    writeFileSync(policyFile, stringify(policy));
    annotator = await Annotator.start(listAnnotatorFlags());
    extender = await Extender.start([
      ...['--policy-config-path', policyFile, '--plugins', 'Dynamic=3', '--time-zone', timeZone],
      ...['--kubeconfig', cluster.kubeconfigOf('cpusetd-extender', 'cpusetd-scheduling')],
    ]);
    // The extender's opinion outweighs that of the other plugins, which see the same requests on all nodes.
    await cluster.startScheduler(
      formatSchedulerConfig({ urlPrefix: `http://127.0.0.1:${extender.port}`, weight: 100 }),
    );
  });
  afterAll(async () => {
    await annotator?.stop();
    await extender?.stop();
    await prometheus?.stop();
    await exporters?.stop();
    await cluster?.stop();
    rmSync(folder, { recursive: true });
  });

  const listAnnotatorFlags = (): string[] => [
    ...['--policy-config-path', join(folder, 'policy.yaml'), '--prometheus-address', prometheus.address],
    ...['--kubeconfig', cluster.kubeconfigOf('cpusetd-annotator', 'cpusetd-scheduling'), '--time-zone', timeZone],
    ...['--leader-elect-resource-namespace', 'cpusetd-scheduling'],
  ];
  /** The ratio in a node's annotation. */
  const readRatio = (node: string, metric = 'cpu_usage_avg_5m'): number =>
    Number(nodes.byName.get(node)?.metadata.annotations?.[metric]?.split(',')[0]);
  /** The stamp of a node's annotation, in ms after now. */
  const readAheadMs = (node: string): number => {
    const stamp = nodes.byName.get(node)!.metadata.annotations!['cpu_usage_avg_5m']!.split(',')[1]!;
    const style = { dateStyle: 'short', timeStyle: 'medium' } as const;
    const local = new Intl.DateTimeFormat('sv-SE', { timeZone, ...style }).format(Date.now());
    return Date.parse(stamp) - Date.parse(`${local.replace(' ', 'T')}Z`);
  };
  const setLoads = async (loads: Readonly<Record<string, number>>): Promise<void> => {
    for (const [node, cpu] of Object.entries(loads)) exporters.set(node, { cpu, memory: 0.2 });
    await waitUntil(
      'the annotations to say it',
      () => Object.entries(loads).every(([node, cpu]) => Math.abs(readRatio(node) - cpu) < 0.03),
      undefined,
      { everyMs: 20, seen: () => names.map((node) => nodes.byName.get(node)?.metadata.annotations) },
    );
  };
  /** Bound pods have no kubelet: they go at once. */
  const removePods = async (): Promise<void> => {
    for (const name of cluster.pods.byName.keys())
      await cluster.client.send({
        method: 'DELETE',
        path: `/api/v1/namespaces/default/pods/${name}`,
        query: { gracePeriodSeconds: '0' },
      });
    await waitUntil('no pods', () => cluster.pods.byName.size === 0);
  };
  const run = async (name: string): Promise<string> => {
    await cluster.create({ name, cpus: 0, scheduler: 'default-scheduler' });
    const read = (): Pod | undefined => cluster.pods.byName.get(name);
    await waitUntil(`${name} to be bound`, () => read()?.spec.nodeName !== undefined, undefined, {
      seen: () => read()?.status,
    });
    return read()!.spec.nodeName!;
  };
  const readHotValue = (node: string): number =>
    Number(nodes.byName.get(node)?.metadata.annotations?.['node_hot_value']?.split(',')[0]);

  test('given the rules of deploy/scheduling: the annotations have the load of the exporters, with stamps in the time zone', async () => {
    const loads = { 'node-a': 0.1, 'node-b': 0.3, 'node-c': 0.5, 'node-d': 0.6 };
    await setLoads(loads);
    const recorded = await prometheus.read('cpu_usage_avg_5m');
    for (const [node, cpu] of Object.entries(loads)) {
      expect(recorded.get(instanceOf(node))! / 100).toBeCloseTo(cpu, 1);
      const { annotations = {} } = nodes.byName.get(node)!.metadata;
      expect(annotations['mem_usage_avg_5m']).toMatch(/^0\.20000,/);
      expect(Math.abs(readAheadMs(node))).toBeLessThan(60_000);
    }
  });

  test('given equal loads and pods one after the other: hot values grow, and the pods spread over all nodes', async () => {
    await setLoads({ 'node-a': 0.2, 'node-b': 0.2, 'node-c': 0.2, 'node-d': 0.2 });
    const before = new Map(names.map((node) => [node, readHotValue(node)]));
    const counts = new Map(names.map((node) => [node, 0]));
    for (let n = 0; n < 12; n++) {
      const node = await run(`burst-${n}`);
      counts.set(node, counts.get(node)! + 1);
      await waitUntil('the hot value', () => readHotValue(node) !== before.get(node));
      before.set(node, readHotValue(node));
    }
    for (const count of counts.values()) expect(count).toBeGreaterThanOrEqual(2);
    await removePods();
  });

  test('given nodes of different load: a pod goes to the least loaded one', async () => {
    await setLoads({ 'node-a': 0.5, 'node-b': 0.4, 'node-c': 0.05, 'node-d': 0.6 });
    expect(await run('calm')).toBe('node-c');
    await removePods();
  });

  test('given a node that becomes hot: pods avoid it as soon as its annotation says so', async () => {
    await setLoads({ 'node-a': 0.5, 'node-b': 0.5, 'node-c': 0.9, 'node-d': 0.5 });
    for (let n = 0; n < 6; n++) expect(await run(`cool-${n}`)).not.toBe('node-c');
    await removePods();
  });

  test('given only hot nodes: a pod waits, and its condition and the extender say why; it is bound when one cools down', async () => {
    await setLoads({ 'node-a': 0.9, 'node-b': 0.9, 'node-c': 0.9, 'node-d': 0.9 });
    await cluster.create({ name: 'waits', cpus: 0, scheduler: 'default-scheduler' });
    const condition = () =>
      cluster.pods.byName.get('waits')?.status.conditions?.find(({ type }) => type === 'PodScheduled')?.message;
    await waitUntil('the reason', () => condition() !== undefined);
    for (const node of names) expect(condition()).toContain(`Load[cpu_usage_avg_5m] of node[${node}] is too high`);
    expect(await extender.explain('default/waits')).toMatch(
      /node-a\b.*Dynamic\b.*cpu_usage_avg_5m\b.*0\.(8|9)\d*.*0\.65/,
    );

    exporters.set('node-b', { cpu: 0.1, memory: 0.2 });
    await waitUntil('it is bound', () => cluster.pods.byName.get('waits')?.spec.nodeName !== undefined);
    expect(cluster.pods.byName.get('waits')!.spec.nodeName).toBe('node-b');
    await removePods();
  });

  test('given a Prometheus that is gone: stamps grow no younger, and pods are bound; given it is back: figures follow again', async () => {
    await setLoads({ 'node-a': 0.2 });
    await prometheus.signal('SIGTERM');
    await annotator.waitForLog(({ level, metric }) => level === 'warn' && metric !== undefined, {
      from: annotator.mark(),
    });
    const stamps = names.map((node) => nodes.byName.get(node)!.metadata.annotations!['cpu_usage_avg_5m']);
    await run('blind');
    expect(names.map((node) => nodes.byName.get(node)!.metadata.annotations!['cpu_usage_avg_5m'])).toEqual(stamps);
    await prometheus.restart();
    await setLoads({ 'node-a': 0.4 });
    await removePods();
  });

  test('given a clock that runs ahead and is set right, then back by an hour: stamps of the future go, none of the past comes', async () => {
    await annotator.stop();
    const clock = new ProcessClock(join(folder, 'clock'));
    const other = await Annotator.start(listAnnotatorFlags(), clock.env);
    const areAhead = (seconds: number): boolean =>
      names.every((node) => Math.abs(readAheadMs(node) - seconds * 1_000) < 15_000);
    const wasSet = ({ msg }: LogLine): boolean => msg?.startsWith('the clock was set') === true;
    try {
      await setLoads({ 'node-a': 0.35 }); // it leads
      await waitUntil('stamps of now', () => areAhead(0));
      let from = other.mark();
      clock.set(120);
      expect((await other.waitForLog(wasSet, { from })).byMs).toBeCloseTo(120_000, -3);
      await waitUntil('stamps of the future', () => areAhead(120));

      from = other.mark();
      clock.set(0);
      expect((await other.waitForLog(wasSet, { from })).byMs).toBeCloseTo(-120_000, -3);
      await waitUntil('stamps of now', () => areAhead(0));

      // Prometheus has nothing of an hour ago.
      from = other.mark();
      clock.set(-3_600);
      await other.waitForLog(({ msg, nodes }) => msg === 'nodes have no figure' && nodes === names.length, { from });
      for (const node of names) expect(readAheadMs(node)).toBeGreaterThan(-600_000);
      await run('in-the-past');

      clock.set(0);
      await setLoads({ 'node-a': 0.3 });
      await waitUntil('stamps of now again', () => areAhead(0));
      expect(other.outcome).toBeUndefined(); // the lease was kept
    } finally {
      await other.stop();
      await annotator.restart();
      await removePods();
    }
  });

  test('given HTTPS and client certificates: the scheduler is answered, and others only at /healthz', async () => {
    const file = (name: string): string => join(cluster.plane.work, name);
    const ca = readFileSync(file('ca.crt'));
    const secured = await Extender.start(
      [
        ...['--policy-config-path', join(folder, 'policy.yaml'), '--time-zone', timeZone],
        ...['--kubeconfig', cluster.kubeconfigOf('cpusetd-extender', 'cpusetd-scheduling')],
        ...['--tls-cert-file', file('server.crt'), '--tls-private-key-file', file('server.key')],
        ...['--client-ca-file', file('ca.crt')],
      ],
      { ca },
    );
    try {
      expect((await ask(secured.port, '/filter', {}, { ca })).status).toBe(401);
      const known = { ca, cert: readFileSync(file('admin.crt')), key: readFileSync(file('admin.key')) };
      expect((await ask(secured.port, '/filter', {}, known)).status).toBe(400); // it is read, and has no pod

      await setLoads({ 'node-a': 0.5, 'node-b': 0.4, 'node-c': 0.6, 'node-d': 0.05 });
      await cluster.stopScheduler('kube-scheduler');
      const tlsConfig = { caFile: file('ca.crt'), certFile: file('admin.crt'), keyFile: file('admin.key') };
      const urlPrefix = `https://127.0.0.1:${secured.port}`;
      await cluster.startScheduler(formatSchedulerConfig({ urlPrefix, weight: 100, tlsConfig }));
      expect(await run('secured')).toBe('node-d');
      const { text } = await ask(secured.port, '/metrics', undefined, known);
      expect(text).toMatch(/^cpusetd_extender_bindings_total\{result="bound"\} 1$/m);
      const ours = ['--client-cert-file', file('admin.crt'), '--client-key-file', file('admin.key')];
      const theirs = ['--server-ca-file', file('ca.crt'), '--server-name', 'localhost'];
      expect(await secured.explain('default/secured', ...ours, ...theirs)).toMatch(/bound to node-d\n/);
    } finally {
      await secured.stop();
      await removePods();
    }
  });

  test('given an extender that is gone, ignorable: pods are bound without it', async () => {
    await extender.kill();
    await cluster.stopScheduler('kube-scheduler');
    const settings = { urlPrefix: `http://127.0.0.1:${extender.port}`, weight: 100, ignorable: true };
    await cluster.startScheduler(formatSchedulerConfig({ ...settings, bindVerb: '' }));
    await run('without');
    await extender.restart();
    await removePods();
  });

  test('no request of the annotator, the extender and the scheduler lacks a right of deploy/', () => {
    expect(cluster.listForbidden()).toEqual([]);
  });
});
