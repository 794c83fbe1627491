import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { asObject, asString, KubeError } from '../../../src/kube';
import { requireApiServer } from '../../e2e/rig/api-server';
import { projectRoot } from '../../e2e/rig/project-root';
import { FakePrometheus } from '../../support/fake-prometheus';
import { inParallel } from '../../support/in-parallel';
import { waitUntil } from '../../support/wait-until';
import { Cluster, schedulingManifests } from '../scheduling/rig/cluster';
import { nodesPath } from '../scheduling/rig/objects';
import { Annotator } from './rig/annotator';
import { ask } from './rig/extender';

jest.setTimeout(600_000);

const NODES = 5_000;
/** Most patches at once. */
const PARALLEL = 8;
const POLICY = join(projectRoot(), 'deploy/scheduling/policy.yaml');
const METRICS = ['cpu', 'mem'].flatMap((resource) =>
  ['avg_5m', 'max_avg_1h', 'max_avg_1d'].map((kind) => `${resource}_usage_${kind}`),
);
const USER = 'system:serviceaccount:cpusetd-scheduling:cpusetd-annotator';
const LEASE = '/apis/coordination.k8s.io/v1/namespaces/cpusetd-scheduling/leases/crane-scheduler-controller';

const addressOf = (n: number): string => `10.1.${n >> 8}.${n & 255}`;
const loadOf = (n: number): number => (n % 997) / 10;

/** A line of the API server's audit log. */
interface AuditEvent {
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly resource: string; readonly name?: string };
  readonly requestReceivedTimestamp: string;
  readonly responseStatus?: { readonly code: number };
}

requireApiServer()('the annotator on a real API server with 5,000 nodes', () => {
  let cluster: Cluster;
  let annotator: Annotator | undefined;
  const prometheus = new FakePrometheus();

  beforeAll(async () => {
    cluster = await Cluster.start({ kind: 'crane', manifests: schedulingManifests });
    await prometheus.start();
    for (const metric of METRICS)
      prometheus.series.set(
        metric,
        Array.from({ length: NODES }, (_, n) => ({ instance: `${addressOf(n)}:9100`, value: loadOf(n) })),
      );
    await inParallel(32, NODES, async (n) => {
      const status = { addresses: [{ type: 'InternalIP', address: addressOf(n) }] };
      const body = { apiVersion: 'v1', kind: 'Node', metadata: { name: `node-${n}` }, status };
      await cluster.client.send({ method: 'POST', path: nodesPath, body });
    });
  });
  afterAll(async () => {
    await annotator?.stop();
    await prometheus.stop();
    await cluster?.stop();
  });

  const start = async (): Promise<Annotator> => {
    annotator = await Annotator.start([
      ...['--policy-config-path', POLICY, '--prometheus-address', prometheus.address, '--time-zone', 'UTC'],
      ...['--kubeconfig', cluster.kubeconfigOf('cpusetd-annotator', 'cpusetd-scheduling')],
      ...['--leader-elect-resource-namespace', 'cpusetd-scheduling', '--leader-elect-retry-period', '500ms'],
      ...['--concurrent-syncs', String(PARALLEL)],
    ]);
    return annotator;
  };
  const countPatches = async ({ port }: Annotator): Promise<number> => {
    const { text } = await ask(port, '/metrics');
    return Number(/^cpusetd_annotator_patches_total\{result="ok"\} (\d+)$/m.exec(text)?.[1] ?? 0);
  };
  const untilPatched = (writer: Annotator, count: number): Promise<void> =>
    waitUntil(`${count} patches`, async () => (await countPatches(writer)) >= count, 300_000, { everyMs: 20 });
  /** The patches of Nodes that the API server has got from annotators. */
  const readPatches = (): AuditEvent[] =>
    readFileSync(cluster.plane.auditLog, 'utf8')
      .split('\n')
      .filter((line) => line.includes(USER) && line.includes('"patch"'))
      .map((line) => JSON.parse(line) as AuditEvent)
      .filter(({ verb, objectRef }) => verb === 'patch' && objectRef?.resource === 'nodes');

  test('a full sync: six queries, one patch for each node with its own figures', async () => {
    const first = await start();
    await untilPatched(first, NODES);
    expect(prometheus.queries).toHaveLength(METRICS.length);
    const patched = readPatches().map(({ objectRef }) => objectRef?.name);
    expect(patched).toHaveLength(NODES);
    expect(new Set(patched).size).toBe(NODES);
    let read = 0;
    const onItem = (node: unknown): void => {
      const { name, annotations } = asObject(asObject(node)['metadata']);
      const n = Number(asString(name).slice('node-'.length));
      const ratios = METRICS.map((metric) => asString(asObject(annotations)[metric]).split(',')[0]);
      expect({ n, ratios }).toEqual({ n, ratios: METRICS.map(() => (loadOf(n) / 100).toFixed(5)) });
      read++;
    };
    await cluster.client.send({ method: 'GET', path: nodesPath, onItem, timeoutMs: 60_000 });
    expect(read).toBe(NODES);
    expect(await first.stop()).toBe(0);
  });

  /** Writes another holder into the lease; once more when the holder has renewed it since it was read. */
  const takeLease = async (): Promise<void> => {
    for (;;) {
      const lease = asObject(await cluster.client.send({ method: 'GET', path: LEASE }));
      const spec = { ...asObject(lease['spec']), holderIdentity: 'another' };
      try {
        await cluster.client.send({ method: 'PUT', path: LEASE, body: { ...lease, spec } });
        return;
      } catch (error) {
        if (!(error instanceof KubeError && error.status === 409)) throw error;
      }
    }
  };

  test('given a lease that another takes in the middle of a sync: the process ends with status 1, and no patch begins after the loss', async () => {
    const before = readPatches().length;
    const second = await start();
    await untilPatched(second, 300);
    await takeLease();
    expect(await second.ended()).toBe(1);
    const { time } = await second.waitForLog(({ msg }) => msg?.startsWith('the lease is lost') === true);
    const lostAtMs = Date.parse(String(time));
    const patches = readPatches().slice(before);
    expect(patches.length).toBeGreaterThanOrEqual(300);
    expect(patches.length).toBeLessThan(NODES);
    // Those that were under way may reach the API server later.
    const late = patches.filter(({ requestReceivedTimestamp }) => Date.parse(requestReceivedTimestamp) > lostAtMs);
    expect(late.length).toBeLessThanOrEqual(PARALLEL);
    const held = asObject(asObject(await cluster.client.send({ method: 'GET', path: LEASE }))['spec']);
    expect(held['holderIdentity']).toBe('another');
  });

  test('no request of the annotator lacks a right of deploy/', () => {
    expect(cluster.listForbidden()).toEqual([]);
  });
});
