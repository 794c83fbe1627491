import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { MERGE_PATCH } from '../../../src/kube';
import { requireApiServer } from '../../e2e/rig/api-server';
import { projectRoot } from '../../e2e/rig/project-root';
import { Cluster } from '../scheduling/rig/cluster';
import { createNode } from '../scheduling/rig/create-node';
import { topologyPaths } from '../scheduling/rig/objects';

jest.setTimeout(300_000);

const read = (name: string): string => readFileSync(join(projectRoot(), name), 'utf8');
const names = ['node-a', 'node-b'];

/** The commands of docs/install.md, in their order. */
const commands = read('docs/install.md')
  .split('\n### Removal from the cluster\n')[1]!
  .split('\n## ')[0]!
  .split('\n')
  .filter((line) => line.startsWith('    '))
  .map((line) => line.slice(4))
  .join('\n');

interface Node {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: { readonly taints?: readonly { readonly key: string }[] };
  readonly status: {
    readonly capacity: Readonly<Record<string, string>>;
    readonly allocatable: Readonly<Record<string, string>>;
    readonly conditions: readonly { readonly type: string }[];
  };
}

const predictions = '/apis/prediction.crane.io/v1alpha1/namespaces/crane-system/timeseriespredictions';

requireApiServer()('docs/install.md: removal from the cluster', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await Cluster.start({ kind: 'crane' });
    cluster.kubectl('apply', '--server-side', '-f', 'crds');
    cluster.kubectl('wait', '--for=condition=Established', '--timeout=60s', '-f', 'crds');
  });
  afterAll(() => cluster?.stop());

  test('the commands leave no condition, no lent resource, no taint, no prediction, no NodeResourceTopology and no figure behind, and what others wrote stays', async () => {
    const { spec } = parse(read('deploy/scheduling/policy.yaml')) as { spec: { syncPolicy: { name: string }[] } };
    const figures = [...spec.syncPolicy.map(({ name }) => name), 'node_hot_value'];
    await cluster.client.send({
      method: 'POST',
      path: '/api/v1/namespaces',
      body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'crane-system' } },
    });
    for (const name of names) {
      const annotations = Object.fromEntries(figures.map((figure) => [figure, '0,2026-11-23T10:00:00Z']));
      await createNode(cluster.client, {
        name,
        cpus: 8,
        memoryMib: 1_024,
        annotations: { ...annotations, other: 'x' },
      });
      const lent = { 'gocrane.io/cpu': '2', 'gocrane.io/memory': '1024' };
      const conditions = ['CpusetdReady', 'interference-identified'].map((type) => ({ type, status: 'True' }));
      await cluster.client.send({
        method: 'PATCH',
        path: `/api/v1/nodes/${name}/status`,
        contentType: 'application/strategic-merge-patch+json',
        body: { status: { conditions, capacity: lent, allocatable: lent } },
      });
      const taints = ['interference.crane.io', 'other'].map((key) => ({ key, effect: 'PreferNoSchedule' }));
      await cluster.client.send({
        method: 'PATCH',
        path: `/api/v1/nodes/${name}`,
        contentType: MERGE_PATCH,
        body: { spec: { taints } },
      });
      await cluster.client.send({
        method: 'POST',
        path: predictions,
        body: {
          apiVersion: 'prediction.crane.io/v1alpha1',
          kind: 'TimeSeriesPrediction',
          metadata: { name: `noderesource-${name}` },
          spec: { targetRef: { kind: 'Node', name } },
        },
      });
      const craneManagerPolicy = { cpuManagerPolicy: 'Static', topologyManagerPolicy: 'None' };
      for (const [kind, path] of Object.entries(topologyPaths)) {
        const [, , apiVersion, version] = path.split('/');
        const content = kind === 'crane' ? { craneManagerPolicy } : { zones: [], topologyPolicies: [] };
        const body = {
          apiVersion: `${apiVersion}/${version}`,
          kind: 'NodeResourceTopology',
          metadata: { name },
          ...content,
        };
        await cluster.client.send({ method: 'POST', path, body });
      }
    }

    execFileSync('bash', ['--norc', '-euc', commands], {
      env: {
        HOME: cluster.plane.work,
        PATH: `${cluster.plane.programs}:${process.env['PATH']}`,
        KUBECONFIG: cluster.plane.kubeconfigs.admin,
      },
    });

    for (const name of names) {
      const node = (await cluster.client.send({ method: 'GET', path: `/api/v1/nodes/${name}` })) as Node;
      expect(node.status.conditions.map(({ type }) => type)).toEqual(['Ready']);
      expect(node.metadata.annotations).toEqual({ other: 'x' });
      expect(node.spec.taints?.map(({ key }) => key)).toEqual(['other']);
      for (const amounts of [node.status.capacity, node.status.allocatable])
        expect(Object.keys(amounts).sort()).toEqual(['cpu', 'memory', 'pods']);
    }
    for (const path of [...Object.values(topologyPaths), predictions])
      expect(await cluster.client.send({ method: 'GET', path })).toMatchObject({ items: [] });
  });
});
