import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Daemon, onlineCpus, poll, startDaemon, waitUntil } from '../e2e/rig';
import { projectRoot } from '../e2e/rig/project-root';
import { makeCgroupRoot } from '../support/daemon-paths';
import { NriRuntime } from '../support/nri-runtime';
import {
  createToken,
  deleteTopologies,
  kubeApi,
  KubeApi,
  kubectl,
  onOneNode,
  topologiesOf,
  type TopologyGroup,
  topologyGroups,
  topologyVersions,
  writeKubeconfig,
} from './rig';

// deploy/components/api-server/validating-admission-policy.yaml, and the one of components/qos, for a service account
// of its own: the other tests run beside this one, with tokens that are bound to nothing. Two Nodes without a kubelet
// are enough.

const applied = [
  'namespace/namespace.yaml',
  'base/service-account.yaml',
  ...['api-server', 'qos'].flatMap((component) =>
    ['rbac.yaml', 'validating-admission-policy.yaml'].map((name) => `components/${component}/${name}`),
  ),
];
const account = 'cpusetd-limited';
const own = 'limited-a';
const other = 'limited-b';
const conditionOf = (status: string): object => ({ status: { conditions: [{ type: 'CpusetdReady', status }] } });
const STRATEGIC = 'application/strategic-merge-patch+json';

onOneNode('deploy/components/api-server/validating-admission-policy.yaml', () => {
  let folder: string;
  let tries = 0;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'cpusetd-own-'));
    for (const [i, name] of applied.entries()) {
      const text = readFileSync(join(projectRoot(), 'deploy', name), 'utf8');
      writeFileSync(join(folder, `${i}.yaml`), text.replaceAll('cpusetd', account));
    }
    await kubectl('apply', '--server-side', '--validate=strict', '-f', folder);
    for (const name of [own, other]) {
      await kubeApi.create('/api/v1/nodes', { metadata: { name } });
      for (const group of topologyGroups) await kubeApi.create(topologiesOf(group), topology(group, name));
    }
    const spec = { nodeName: own, serviceAccountName: account, containers: [{ name: 'main', image: 'none' }] };
    await kubeApi.create(`/api/v1/namespaces/${account}/pods`, { metadata: { name: 'on-own' }, spec });
    const unbound = api(await token());
    const events = `/api/v1/namespaces/${account}/events`;
    await waitUntil('the policies are in force', async () => {
      const tried = [patchStatus(unbound, own), unbound.create(events, event(`try-${++tries}`, own))];
      return (await Promise.all(tried.map(outcome))).every((found) => found !== 'accepted');
    });
  });
  afterAll(async () => {
    if (folder === undefined) return;
    await deleteTopologies(own, other);
    await kubectl('delete', 'nodes', own, other, '--ignore-not-found');
    const atOnce = ['--grace-period', '0', '--force', '--ignore-not-found'];
    await kubectl('delete', 'pod', 'on-own', '--namespace', account, ...atOnce);
    await kubectl('delete', '-f', folder, '--ignore-not-found', '--wait=false');
    rmSync(folder, { recursive: true });
  });

  const token = (boundTo?: { kind: 'Node' | 'Pod'; name: string }): Promise<string> =>
    createToken({ account, namespace: account, ...(boundTo && { boundTo }) });
  let identities = 0;
  const kubeconfigOf = (text: string): string => writeKubeconfig(`own-objects-${++identities}`, { token: text });
  const api = (text: string): KubeApi => new KubeApi(() => kubeconfigOf(text));

  const denied = /ValidatingAdmissionPolicy 'cpusetd-limited-own-(node|events)' .* denied request: (.*)$/;
  /** `accepted`, or the rule's own message. */
  const outcome = async (call: Promise<unknown>): Promise<string> =>
    call.then(
      () => 'accepted',
      (error: unknown) => denied.exec((error as Error).message)?.[2] ?? (error as Error).message,
    );
  const patchStatus = (as: KubeApi, name: string): Promise<unknown> =>
    as.patch(`/api/v1/nodes/${name}/status`, conditionOf('True'), STRATEGIC);

  const ofOthers = `${account} on node ${own} may write the objects of that node only, not those of ${other}`;
  const eventsOfOthers = `${account} on node ${own} may write only Events on Pods and on its Node that name that node as their source`;

  describe.each([
    ['a Pod on its node', { kind: 'Pod', name: 'on-own' }],
    ['its Node', { kind: 'Node', name: own }],
  ] as const)('a token that is bound to %s', (_what, boundTo) => {
    let as: KubeApi;
    beforeAll(async () => {
      as = api(await token(boundTo));
    });

    test('may write the status of its Node, and not that of another one', async () => {
      expect(await outcome(patchStatus(as, own))).toBe('accepted');
      expect(await outcome(patchStatus(as, other))).toBe(ofOthers);
    });

    test.each(topologyGroups)('may change and create its own topology of %s, and no other', async (group) => {
      const path = topologiesOf(group);
      const labels = { metadata: { labels: { round: String(identities) } } };
      expect(await outcome(as.patch(`${path}/${own}`, labels))).toBe('accepted');
      expect(await outcome(as.patch(`${path}/${other}`, labels))).toBe(ofOthers);
      for (const name of [own, other]) await kubeApi.delete(`${path}/${name}`);
      expect(await outcome(as.create(path, topology(group, own)))).toBe('accepted');
      expect(await outcome(as.create(path, topology(group, other)))).toBe(ofOthers);
      await kubeApi.create(path, topology(group, other));
    });

    test('may write and change Events of its node on Pods and on itself, and no others', async () => {
      const path = `/api/v1/namespaces/${account}/events`;
      const mine = `mine-${boundTo.kind.toLowerCase()}`;
      expect(await outcome(as.create(path, event(mine, own)))).toBe('accepted');
      expect(await outcome(as.patch(`${path}/${mine}`, { count: 2 }))).toBe('accepted');
      expect(await outcome(as.patch(`${path}/${mine}`, { source: { host: other } }))).toBe(eventsOfOthers);
      expect(await outcome(as.create(path, event('theirs', other)))).toBe(eventsOfOthers);
      expect(await outcome(as.create(path, event('on-service', own, { kind: 'Service', name: own })))).toBe(
        eventsOfOthers,
      );
      const onNode = (name: string): object => ({ kind: 'Node', name, namespace: '' });
      expect(await outcome(as.create(eventsOfNodes, inDefault(event(`node-${mine}`, own, onNode(own)))))).toBe(
        'accepted',
      );
      expect(await outcome(as.create(eventsOfNodes, inDefault(event('on-other', own, onNode(other)))))).toBe(
        eventsOfOthers,
      );
      await kubeApi.create(path, event(`theirs-${mine}`, other));
      const takeOver = { source: { host: own }, reportingInstance: own };
      expect(await outcome(as.patch(`${path}/theirs-${mine}`, takeOver))).toBe(
        `${account} on node ${own} may change its own Events only`,
      );
    });
  });

  test('a token that is bound to nothing may read, and write nothing', async () => {
    const as = api(await token());
    const message = 'the token of cpusetd is bound to no Pod and no Node, so it may write nothing'.replace(
      'cpusetd',
      account,
    );
    expect(await outcome(as.get(`/api/v1/nodes/${own}`))).toBe('accepted');
    expect(await outcome(patchStatus(as, own))).toBe(message);
    const path = topologiesOf('topology.node.k8s.io');
    expect(await outcome(as.patch(`${path}/${own}`, { metadata: { labels: { round: 'x' } } }))).toBe(message);
    expect(await outcome(as.create(`/api/v1/namespaces/${account}/events`, event('nobodys', own)))).toBe(message);
  });

  test('a policy has no warning of the check of its types', async () => {
    const path = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
    for (const name of [`${account}-own-node`, `${account}-own-events`, `${account}-own-taint`]) {
      const { status } = await poll('the check of types', async () => {
        const policy = await kubeApi.get<Policy>(`${path}/${name}`);
        return policy.status?.observedGeneration === undefined ? undefined : policy;
      });
      expect(status?.typeChecking?.expressionWarnings ?? []).toEqual([]);
    }
  });

  describe('the daemon with the token of another node', () => {
    let runtime: NriRuntime;
    let daemon: Daemon;
    afterEach(async () => {
      await daemon?.dispose();
      await runtime?.close();
    });

    test('logs the refusal of each kind once, with the message of the rule, and pins all the same', async () => {
      runtime = await NriRuntime.listen({ socketPath: join(folder, 'nri.sock') });
      const cgroups = join(folder, 'cgroup');
      makeCgroupRoot(cgroups, onlineCpus);
      const kubeconfig = kubeconfigOf(await token({ kind: 'Node', name: own }));
      daemon = startDaemon({
        args: [
          ...['--nri-socket', join(folder, 'nri.sock'), '--cri-endpoint', 'off', '--cgroup-root', cgroups],
          ...['--reserved-cpus', '0', '--node-name', other, '--kubeconfig', kubeconfig],
          ...['--node-resource-topology', 'both', '--node-condition', 'on', '--kube-events', 'on'],
        ],
      });
      await daemon.ready();
      const refused = (msg: string) =>
        daemon.waitForLog((line) => line.msg === msg && String(line['because']).includes(ofOthers));
      await refused('the condition of the node can’t be written; trying again');
      await refused('node topology can’t be published; trying again');
      const pod = await runtime.runPod({ name: 'db', namespace: account, qos: 'guaranteed' });
      const tooMany = { name: 'db', milliCpu: 1_000_000, memoryBytes: 1 << 26 };
      await expect(runtime.createContainer(pod, tooMany)).rejects.toThrow(/exclusive CPU/);
      const line = await daemon.waitForLog(({ because }) => String(because).includes(eventsOfOthers));
      expect(line).toMatchObject({ level: expect.stringMatching(/warn|40/) as string, msg: 'events can’t be written' });
      await runtime.createContainer(pod, { name: 'db', milliCpu: 1_000, memoryBytes: 1 << 26 });
      await daemon.waitForLog('pinned');
    });
  });
});

interface Policy {
  readonly status?: {
    readonly observedGeneration?: number;
    readonly typeChecking?: { readonly expressionWarnings?: readonly unknown[] };
  };
}

function topology(group: TopologyGroup, name: string): object {
  const content =
    group === 'topology.crane.io'
      ? { craneManagerPolicy: { cpuManagerPolicy: 'None' } }
      : { zones: [], topologyPolicies: [] };
  return {
    apiVersion: `${group}/${topologyVersions[group]}`,
    kind: 'NodeResourceTopology',
    metadata: { name },
    ...content,
  };
}

/** Events on a Node are in this namespace. */
const eventsOfNodes = '/api/v1/namespaces/default/events';
const inDefault = (made: { readonly metadata: object }): object => ({
  ...made,
  metadata: { ...made.metadata, namespace: 'default' },
});

function event(name: string, node: string, about: object = { kind: 'Pod', name: 'on-own' }) {
  return {
    metadata: { name, namespace: account },
    involvedObject: { apiVersion: 'v1', namespace: account, ...about },
    type: 'Normal',
    reason: 'Test',
    message: 'a test',
    source: { component: 'cpusetd', host: node },
    reportingComponent: 'cpusetd',
    reportingInstance: node,
  };
}
