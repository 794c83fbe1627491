import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { KubeClient, MERGE_PATCH } from '../../../src/kube/api/kube-client';
import { requireApiServer } from '../../e2e/rig/api-server';
import { projectRoot } from '../../e2e/rig/project-root';
import { poll, waitUntil } from '../../support/wait-until';
import { Cluster } from '../scheduling/rig/cluster';
import { createNode } from '../scheduling/rig/create-node';
import { podOf, topologyPaths } from '../scheduling/rig/objects';

// deploy/scheduling/validating-admission-policy.yaml, and the policies of the agent, on a real API server: as the
// overlays have them, and in another namespace. There is no controller manager: of the Deployments no pods are made.

jest.setTimeout(600_000);

const policies = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
const node = '/api/v1/nodes/node-a';
const topology = `${topologyPaths.crane}/node-a`;
const namesOfPolicies = ['annotator-figures', 'extender-bindings', 'extender-claims', 'extender-own-pods'].map(
  (name) => `cpusetd-${name}`,
);

requireApiServer()('the policies of deploy/ for tokens that were taken from a node', () => {
  let cluster: Cluster;
  let tries = 0;
  const folder = mkdtempSync(join(tmpdir(), 'cpusetd-limits-'));
  beforeAll(async () => {
    cluster = await Cluster.start({ kind: 'crane' });
    await createNode(cluster.client, { name: 'node-a', cpus: 16, memoryMib: 65_536 });
    const craneManagerPolicy = { cpuManagerPolicy: 'Static', topologyManagerPolicy: 'None' };
    const kind = { apiVersion: 'topology.crane.io/v1alpha1', kind: 'NodeResourceTopology' };
    const body = {
      ...kind,
      metadata: { name: 'node-a' },
      craneManagerPolicy,
      zones: [{ name: 'node0', type: 'Node' }],
    };
    await cluster.client.send({ method: 'POST', path: topologyPaths.crane, body });
  });
  afterAll(async () => {
    await cluster?.stop();
    rmSync(folder, { recursive: true });
  });

  /**
   * Applies overlays and components of `deploy`, in another namespace if one is given, as a kustomization of one's own
   * does.
   */
  const apply = (resources: readonly string[], components: readonly string[], namespace?: string): void => {
    const pathTo = (name: string): string => relative(folder, join(projectRoot(), 'deploy', name));
    const kustomization = { resources: resources.map(pathTo), components: components.map(pathTo), namespace };
    writeFileSync(join(folder, 'kustomization.yaml'), JSON.stringify(kustomization));
    cluster.kubectl('apply', '--server-side', '--validate=strict', '-k', folder);
  };
  const apiOf = (account: string, namespace: string): KubeClient =>
    new KubeClient({ kind: 'file', path: cluster.kubeconfigOf(account, namespace) }, cluster.signal);
  /** `accepted`, or the rule's own message; the message of the API server for what it refuses by itself. */
  const outcome = async (call: Promise<unknown>): Promise<string> =>
    call.then(
      () => 'accepted',
      (error: unknown) => {
        const { message } = error as Error;
        return /ValidatingAdmissionPolicy '[^']+' .* denied request: (.*)$/.exec(message)?.[1] ?? message;
      },
    );
  const patch = (as: KubeClient, path: string, body: object): Promise<string> =>
    outcome(as.send({ method: 'PATCH', path, contentType: MERGE_PATCH, body }));
  const annotate = (as: KubeClient, path: string, annotations: object): Promise<string> =>
    patch(as, path, { metadata: { annotations } });

  describe.each([
    ['as it is', undefined],
    ['in another namespace', 'tools'],
  ])('the overlay scheduling %s', (_where, other) => {
    const namespace = other ?? 'cpusetd-scheduling';
    let annotator: KubeClient;
    let extender: KubeClient;
    beforeAll(async () => {
      apply(['overlays/scheduling'], ['components/scheduling-own-pods'], other);
      annotator = apiOf('cpusetd-annotator', namespace);
      extender = apiOf('cpusetd-extender', namespace);
      await waitUntil('the policies to be in force', async () => {
        const more = { tried: String(++tries) };
        const tried = [annotate(annotator, node, more), annotate(extender, topology, more)];
        return (await Promise.all(tried)).every((found) => found.startsWith('the '));
      });
    });
    afterAll(() => {
      cluster.kubectl('annotate', 'node', 'node-a', 'tried-', 'cpu_usage_avg_5m-', 'node_hot_value-');
      cluster.kubectl('delete', '-k', folder, '--wait=false');
    });

    test('the annotator may write its figures, and remove them', async () => {
      const figures = { cpu_usage_avg_5m: '0.31250,2026-11-23T10:00:00Z', node_hot_value: '1,2026-11-23T10:00:00Z' };
      expect(await annotate(annotator, node, figures)).toBe('accepted');
      expect(await annotate(annotator, node, { cpu_usage_avg_5m: null })).toBe('accepted');
    });

    test('the annotator may write no other annotation, and neither change nor remove one of others', async () => {
      const refused = /^the annotator may write the annotations cpu_usage_avg_5m, .*, node_hot_value only; /;
      cluster.kubectl('annotate', 'node', 'node-a', 'of-others=1', '--overwrite');
      expect(await annotate(annotator, node, { mine: '1' })).toMatch(refused);
      expect(await annotate(annotator, node, { 'of-others': '2' })).toMatch(refused);
      expect(await annotate(annotator, node, { 'of-others': null })).toMatch(refused);
    });

    test.each([
      ['labels', { metadata: { labels: { pool: 'mine' } } }],
      ['finalizers', { metadata: { finalizers: ['example.com/keep'] } }],
      ['owners', { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'x', uid: 'x' }] } }],
      ['taints', { spec: { taints: [{ key: 'x', effect: 'NoExecute' }] } }],
      ['the state of a Node that takes no pods', { spec: { unschedulable: true } }],
    ])('the annotator may not change %s', async (_what, body) => {
      expect(await patch(annotator, node, body)).toBe('the annotator may change annotations of a Node only');
    });

    test('the extender may claim zones, and change nothing else of a topology', async () => {
      expect(await annotate(extender, topology, { 'cpusetd.io/assumed-pods': '{}' })).toBe('accepted');
      expect(await annotate(extender, topology, { 'cpusetd.io/assumed-pods': null })).toBe('accepted');
      expect(await annotate(extender, topology, { mine: '1' })).toBe(
        'the extender may write the annotation cpusetd.io/assumed-pods only',
      );
      for (const body of [
        { zones: [] },
        { craneManagerPolicy: { cpuManagerPolicy: 'None' } },
        { reserved: { cpu: '1' } },
        { attributes: { x: '1' } },
        { metadata: { labels: { x: '1' } } },
      ])
        expect(await patch(extender, topology, body)).toBe(
          'the extender may change an annotation of a NodeResourceTopology only',
        );
    });

    test('the extender may bind with a result, and give a pod no other annotation and no label', async () => {
      await cluster.client.send({
        method: 'POST',
        path: '/api/v1/namespaces/default/pods',
        body: podOf({ name: 'web', cpus: 1, scheduler: 'cpusetd-scheduler' }),
      });
      await waitUntil('the pod', () => cluster.pods.byName.has('web'));
      const { uid } = cluster.pods.byName.get('web')!.metadata;
      const bind = (metadata: object): Promise<string> => {
        const path = '/api/v1/namespaces/default/pods/web/binding';
        const target = { apiVersion: 'v1', kind: 'Node', name: 'node-a' };
        const body = { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'web', ...metadata }, target };
        return outcome(extender.send({ method: 'POST', path, body }));
      };
      const result = { 'topology.crane.io/topology-result': '[]' };
      const refused = 'the extender may give a pod the annotation topology.crane.io/topology-result only, and no label';
      expect(await bind({ annotations: result })).toBe('the extender may bind a pod only by its uid');
      expect(await bind({ uid, annotations: { ...result, 'cpusetd.io/policy': 'none' } })).toBe(refused);
      expect(await bind({ uid, labels: { 'topology.kubernetes.io/zone': 'x' } })).toBe(refused);
      expect(await bind({ uid, annotations: result })).toBe('accepted');
      const path = '/api/v1/namespaces/default/pods/web';
      await cluster.client.send({ method: 'DELETE', path, query: { gracePeriodSeconds: '0' } });
    });

    test('with the component, the extender may not bind a pod of another scheduler', async () => {
      const path = '/api/v1/namespaces/default/pods';
      await cluster.client.send({
        method: 'POST',
        path,
        body: podOf({ name: 'other', cpus: 1, scheduler: 'default-scheduler' }),
      });
      await waitUntil('the pod', () => cluster.pods.byName.has('other'));
      const { uid } = cluster.pods.byName.get('other')!.metadata;
      const bind = (): Promise<string> =>
        outcome(
          extender.send({
            method: 'POST',
            path: `${path}/other/binding`,
            body: { metadata: { name: 'other', uid }, target: { kind: 'Node', name: 'node-a' } },
          }),
        );
      expect(await bind()).toBe(
        'the extender may bind pods of the scheduler cpusetd-scheduler only, and not of default-scheduler',
      );
      await cluster.client.send({ method: 'DELETE', path: `${path}/other`, query: { gracePeriodSeconds: '0' } });
    });

    test('no policy has a warning of the check of its types', async () => {
      await cluster.plane.start('kube-controller-manager');
      for (const name of namesOfPolicies) {
        const status = await poll('the check of types', async () => {
          const policy = (await cluster.client.send({ method: 'GET', path: `${policies}/${name}` })) as Policy;
          return policy.status?.observedGeneration === undefined ? undefined : policy.status;
        });
        expect(status.typeChecking?.expressionWarnings ?? []).toEqual([]);
      }
      await cluster.plane.kill('kube-controller-manager');
    });
  });

  test('the agent in another namespace may not write the status of a Node that is not its own', async () => {
    apply(['overlays/nri-api'], ['components/qos'], 'elsewhere');
    const agent = apiOf('cpusetd', 'elsewhere');
    const status = { status: { conditions: [{ type: 'CpusetdReady', status: 'True' }] } };
    await waitUntil('the policy to be in force', async () =>
      (await patch(agent, `${node}/status`, status)).startsWith('the token of cpusetd is bound to no Pod and no Node'),
    );
    expect(await patch(agent, node, { spec: { unschedulable: true } })).toMatch(/cordon|bound to no Pod/);
  });
});

interface Policy {
  readonly status?: {
    readonly observedGeneration?: number;
    readonly typeChecking?: { readonly expressionWarnings?: readonly unknown[] };
  };
}
