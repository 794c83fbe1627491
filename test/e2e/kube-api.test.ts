import { readFileSync } from 'node:fs';
import { PLAIN_RULES } from '../../src/core/fit';
import { join } from 'node:path';
import pino from 'pino';
import { parse } from 'yaml';
import { parseCpuList } from '../../src/core/cpuset';
import type { NodeResources } from '../../src/core/node-resources/node-resources';
import { KubeClient, MERGE_PATCH } from '../../src/kube/api/kube-client';
import { KubeError } from '../../src/kube/api/kube-error';
import { communityTopology } from '../../src/kube/node-resource-topology/community-topology';
import { craneTopology } from '../../src/kube/node-resource-topology/crane-topology';
import { semanticEqual } from '../../src/kube/objects/semantic-equal';
import type { Report, TopologyKind } from '../../src/kube/node-resource-topology/topology-resource';
import type { NodeIdentity } from '../../src/kube/objects/owner-reference';
import { TopologyPublisher } from '../../src/kube/node-resource-topology/topology-publisher';
import { percentile } from '../support/percentile';
import { waitUntil } from './rig';
import { requireApiServer, startApiServer, type ApiServer } from './rig/api-server';

jest.setTimeout(300_000);

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const crds: Readonly<Record<TopologyKind['name'], string>> = {
  community: 'noderesourcetopologies.topology.node.k8s.io.yaml',
  crane: 'noderesourcetopologies.topology.crane.io.yaml',
};
type Call = Parameters<KubeClient['send']>[0];

const nodeNamed = (name: string): NodeIdentity => ({ name, uid: `uid-of-${name}`, labels: {} });

interface Stored {
  readonly metadata: {
    readonly resourceVersion: string;
    readonly labels?: Record<string, string>;
    readonly ownerReferences?: { readonly uid: string }[];
  };
  readonly zones: { readonly resources: Record<string, string>[] }[];
  readonly [field: string]: unknown;
}

requireApiServer()('NodeResourceTopology on a real API server', () => {
  let api: ApiServer;
  let admin: KubeClient;
  let end: AbortController;
  let logged: { msg: string; because?: string }[];
  let available: number;
  const client = (path: string): KubeClient => new KubeClient({ kind: 'file', path }, end.signal);

  beforeAll(async () => {
    api = await startApiServer();
  });
  afterAll(() => api?.stop());
  beforeEach(() => {
    end = new AbortController();
    admin = client(api.kubeconfigs.admin);
    logged = [];
    available = 4;
  });
  afterEach(() => end.abort());

  const define = async (name: TopologyKind['name']): Promise<void> => {
    const body: unknown = parse(readFileSync(join(__dirname, '../../deploy/crds', crds[name]), 'utf8'));
    await admin.send({ method: 'POST', path: DEFINITIONS, body }).catch((error: unknown) => {
      if (!(error instanceof KubeError) || error.status !== 409) throw error;
    });
    const { path } = name === 'crane' ? craneTopology : communityTopology;
    await waitUntil('the definition is served', () =>
      admin.send({ method: 'GET', path }).then(
        () => true,
        () => false,
      ),
    );
  };

  const resources = (): NodeResources => ({
    zones: [0, 1].map((id) => ({
      id,
      cpu: { capacity: 8, allocatable: 7, available },
      memoryBytes: 2 ** 33,
      reservedCpus: 1,
      unannounced: 7 - available,
      withheld: 0,
      room: { cpus: available, whole: available },
      roomWithResults: { cpus: 7, whole: 7 },
      distances: new Map([
        [0, id === 0 ? 10 : 21],
        [1, id === 1 ? 10 : 21],
      ]),
    })),
    topologyPolicy: 'single-numa-node',
    topologyScope: 'container',
    pins: true,
    rules: {
      ...PLAIN_RULES,
      topologyPolicy: 'single-numa-node',
      topologyScope: 'container',
    },
    bound: { now: 2 * available, withResults: 14 },
    reserved: parseCpuList('0,8'),
    coreKinds: [],
  });

  function publish(
    kind: TopologyKind,
    nodeName: string,
    {
      as = admin,
      refreshMs = 300_000,
      more = {},
    }: { as?: Pick<KubeClient, 'send'>; refreshMs?: number; more?: Partial<Report> } = {},
  ): TopologyPublisher {
    const publisher = new TopologyPublisher({
      client: as,
      kind,
      nodeName,
      node: () => nodeNamed(nodeName),
      report: (node) => ({
        node,
        resources: resources(),
        fingerprint: 'pfp0v001607b76a0e9d3aeb4',
        kubeletIsStatic: false,
        ...more,
      }),
      log: pino(
        { level: 'debug' },
        { write: (line: string) => void logged.push(JSON.parse(line) as (typeof logged)[0]) },
      ),
      signal: end.signal,
      refreshMs,
      notAllowedMs: 200,
    });
    publisher.touch();
    return publisher;
  }

  const read = async ({ path }: TopologyKind, name: string): Promise<Stored> =>
    (await admin.send({ method: 'GET', path: `${path}/${name}` })) as Stored;
  const readOrNot = (kind: TopologyKind, name: string): Promise<Stored | undefined> =>
    read(kind, name).catch(() => undefined);
  const logLines = (msg: string): (typeof logged)[0][] => logged.filter((line) => line.msg === msg);
  const published = (times = 1): Promise<void> =>
    waitUntil('published', () => logLines('node topology is published').length >= times);

  /** The time that a patch of another client takes. */
  const timePatch = async (name: string, round: string): Promise<number> => {
    const begunMs = performance.now();
    const path = `${communityTopology.path}/${name}`;
    await admin.send({ method: 'PATCH', path, contentType: MERGE_PATCH, body: { metadata: { labels: { round } } } });
    return performance.now() - begunMs;
  };

  test('a missing definition: the reason is logged once, and the topology is published when the definition is applied', async () => {
    publish(communityTopology, 'early');
    await waitUntil('the reason', () => logLines('node topology can’t be published; trying again').length > 0);
    expect(logLines('node topology can’t be published; trying again')[0]?.because).toMatch(
      /does not know .*v1alpha2 \(404\): apply its definition/,
    );
    await define('community');
    await published();
    const missing = logLines('node topology can’t be published; trying again').filter(({ because }) =>
      /404/.test(because!),
    );
    expect(missing).toHaveLength(1);
    await waitUntil('the end of the problem in the log', () => logLines('node topology is published again').length > 0);
    expect(logLines('node topology is published again')).toHaveLength(1);
  });

  test('an object that is no topology: the definition refuses it', async () => {
    await define('community');
    const body = {
      apiVersion: communityTopology.apiVersion,
      kind: 'NodeResourceTopology',
      metadata: { name: 'x' },
      topologyPolicies: [],
    };
    await expect(admin.send({ method: 'POST', path: communityTopology.path, body })).rejects.toMatchObject({
      status: 422,
    });
  });

  test.each([communityTopology, craneTopology])(
    '$name: the definition is structural, and accepts the smallest valid object',
    async ({ name, path, apiVersion }) => {
      await define(name);
      const definition = (await admin.send({
        method: 'GET',
        path: `${DEFINITIONS}/${crds[name].replace(/\.yaml$/, '')}`,
      })) as { status: { conditions: { type: string; status: string }[] } };
      const conditions = definition.status.conditions.map(({ type, status }) => `${type}=${status}`);
      expect(conditions).toEqual(expect.arrayContaining(['NamesAccepted=True', 'Established=True']));
      expect(conditions.join()).not.toMatch(/NonStructural|KubernetesAPIApprovalPolicyConformant=False/);
      const least = name === 'crane' ? { craneManagerPolicy: { cpuManagerPolicy: 'None' } } : { zones: [] };
      const body = { apiVersion, kind: 'NodeResourceTopology', metadata: { name: `least-${name}` }, ...least };
      const stored = (await admin.send({ method: 'POST', path, body })) as Stored;
      // The definition sets a default.
      if (name === 'crane')
        expect(stored['craneManagerPolicy']).toEqual({
          cpuManagerPolicy: 'None',
          topologyManagerPolicy: 'SingleNUMANodePodLevel',
        });
    },
  );

  test('the community’s kind: the previous version is still served', async () => {
    await define('community');
    publish(communityTopology, 'older');
    await published();
    const path = communityTopology.path.replace('v1alpha2', 'v1alpha1');
    const stored = (await admin.send({ method: 'GET', path: `${path}/older` })) as Stored;
    expect(stored.zones).toHaveLength(2);
    expect(stored['attributes']).toBeUndefined();
  });

  /** Objects of crane-agent, and of an exporter that reads the kubelet's PodResources. */
  const LEFT: Readonly<Record<TopologyKind['name'], Record<string, unknown>>> = {
    crane: {
      craneManagerPolicy: { cpuManagerPolicy: 'Static', topologyManagerPolicy: 'SingleNUMANodePodLevel' },
      reserved: { cpu: '500m', memory: '1Gi', 'ephemeral-storage': '1Gi' },
      attributes: { 'go.crane.io/reserved-system-cpus': '0', 'example.com/rack': 'r7' },
      zones: [{ name: 'node0', type: 'Node', resources: { capacity: { cpu: '8' }, allocatable: { cpu: '7500m' } } }],
    },
    community: {
      topologyPolicies: ['None'],
      attributes: [
        { name: 'topologyManagerScope', value: 'pod' },
        { name: 'example.com/rack', value: 'r7' },
      ],
      zones: [{ name: 'node-0', type: 'Node', attributes: [{ name: 'x', value: 'y' }] }],
    },
  };

  test.each([communityTopology, craneTopology])(
    '$name: an object of another program: it is taken over with one patch, touches make no other, and foreign fields stay',
    async (kind) => {
      await define(kind.name);
      const { path, apiVersion } = kind;
      const owner = { apiVersion: 'v1', kind: 'Namespace', name: 'other', uid: 'uid-of-other' };
      const metadata = {
        name: 'left',
        annotations: { 'topology.node.k8s.io/fingerprint': 'pfp0v001old', 'example.com/note': 'kept' },
        ownerReferences: [owner],
      };
      const body = { apiVersion, kind: 'NodeResourceTopology', metadata, ...LEFT[kind.name] };
      await admin.send({ method: 'POST', path, body });
      const patches: Call[] = [];
      const as = {
        send: (call: Call) => {
          if (call.method === 'PATCH') patches.push(call);
          return admin.send(call);
        },
      };
      const reserved = { memory: 2 ** 30, pid: 100 };
      const kubelet = { cpuManagerPolicy: 'none', reservedMilliCpu: 500 } as const;
      const more: { -readonly [Key in keyof Report]?: Report[Key] } = { kubelet: { ...kubelet, reserved } };
      const publisher = publish(kind, 'left', { as, more });
      await published();
      for (let i = 0; i < 100; i++) {
        publisher.touch();
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      expect(patches).toHaveLength(1);

      const stored = await read(kind, 'left');
      expect(stored.metadata.ownerReferences?.map(({ uid }) => uid)).toEqual(['uid-of-other', 'uid-of-left']);
      expect(JSON.stringify(stored['attributes'])).toContain('example.com/rack');
      expect(stored.metadata).toMatchObject({ annotations: { 'example.com/note': 'kept' } });
      expect(JSON.stringify(stored).includes('pfp0v001old')).toBe(kind.name === 'crane');
      if (kind.name === 'crane') expect(stored['reserved']).toEqual({ cpu: '2', memory: '1Gi', pid: '100' }); // with the units of the other program

      more.kubelet = { ...kubelet, reserved: { memory: 2 ** 31 } };
      available = 2;
      publisher.touch();
      await published(2);
      if (kind.name === 'crane')
        expect((await read(kind, 'left'))['reserved']).toEqual({ cpu: '2', memory: '2147483648' });
      expect(patches).toHaveLength(2);
    },
  );

  test('20 changes among 2,000 touches: 20 patches at most', async () => {
    await define('community');
    const publisher = publish(communityTopology, 'busy');
    await published();
    for (let change = 1; change <= 20; change++) {
      available = change % 5;
      for (let i = 0; i < 100; i++) publisher.touch();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await waitUntil('the last change', async () => {
      const { zones } = await read(communityTopology, 'busy');
      return zones[0]?.resources[0]?.['available'] === '0';
    });
    const patches = logLines('node topology is published').length - 1;
    process.stdout.write(`${patches} patches for 20 changes and 2,000 touches\n`);
    expect(patches).toBeLessThanOrEqual(20);
  });

  test.each([communityTopology, craneTopology])('$name: created, read back whole, owned by the Node', async (kind) => {
    await define(kind.name);
    publish(kind, 'whole');
    await published();
    const stored = await read(kind, 'whole');
    const wanted = kind.build({
      node: nodeNamed('whole'),
      resources: resources(),
      fingerprint: 'pfp0v001607b76a0e9d3aeb4',
      kubeletIsStatic: false,
    });
    for (const [field, value] of Object.entries(wanted))
      expect(semanticEqual(stored[field], value, field === 'reserved')).toBe(true);
    expect(stored.metadata.ownerReferences?.map(({ uid }) => uid)).toEqual(['uid-of-whole']);
  });

  test.each([communityTopology, craneTopology])('$name: what means the same is not written again', async (kind) => {
    await define(kind.name);
    const publisher = publish(kind, 'same');
    await published();
    // Another client writes the amounts with other units and adds a label.
    const before = await read(kind, 'same');
    const zones = JSON.parse(JSON.stringify(before.zones).replaceAll('"8"', '"8000m"')) as unknown;
    await admin.send({
      method: 'PATCH',
      path: `${kind.path}/same`,
      contentType: MERGE_PATCH,
      body: { zones, metadata: { labels: { team: 'a' } } },
    });
    const { resourceVersion } = (await read(kind, 'same')).metadata;
    end.abort(); // a new daemon
    end = new AbortController();
    admin = client(api.kubeconfigs.admin);
    const calls: Call[] = [];
    const next = publish(kind, 'same', { as: { send: (call) => (calls.push(call), admin.send(call)) } });
    await waitUntil('it was read', () => calls.some(({ method }) => method === 'GET'));
    next.touch();
    publisher.touch();

    available = 2;
    next.touch();
    await published(2);
    // The first write of the new daemon is based on the version that it read.
    const [write, ...more] = calls.filter(({ method }) => method !== 'GET');
    expect(write?.body).toMatchObject({ metadata: { resourceVersion } });
    expect(more).toEqual([]);
    const changed = await read(kind, 'same');
    expect(changed.metadata).toMatchObject({ labels: { team: 'a' } });
    expect(JSON.stringify(changed.zones)).toContain('"2"');
  });

  test('a change is published once, within about a tenth of a second', async () => {
    await define('community');
    publish(communityTopology, 'plain');
    await published();
    logged = [];
    const publisher = publish(communityTopology, 'soon');
    await published();
    const tookMs: number[] = [];
    const plainMs: number[] = [];
    for (let round = 1; round <= 20; round++) {
      plainMs.push(await timePatch('plain', String(round)));
      available = round % 4;
      const begunMs = performance.now();
      publisher.touch();
      publisher.touch();
      await published(1 + round);
      tookMs.push(performance.now() - begunMs);
      const { zones } = await read(communityTopology, 'soon');
      expect(zones[0]?.resources[0]).toMatchObject({ available: String(available) });
    }
    expect(logLines('node topology is published')).toHaveLength(21);
    // The limit is the debounce and the interval of looks at the log, plus the time of patches on this machine now.
    for (const share of [0.5, 0.9])
      expect(percentile(tookMs, share)).toBeLessThan(150 + 3 * percentile(plainMs, share));
  });

  test('a write of another client in between: a conflict, after which the next write keeps its changes', async () => {
    await define('community');
    const publisher = publish(communityTopology, 'contested');
    await published();
    for (let round = 1; round <= 3; round++) {
      await admin.send({
        method: 'PATCH',
        path: `${communityTopology.path}/contested`,
        contentType: MERGE_PATCH,
        body: { zones: [], metadata: { labels: { round: String(round) } } },
      });
      available = 4 - round;
      publisher.touch();
      await published(1 + round);
      const stored = await read(communityTopology, 'contested');
      expect(stored.zones).toHaveLength(2);
      expect(stored.metadata.labels).toEqual({ round: String(round) });
    }
    expect(logLines('somebody else writes the topology of this node too; let only one do it')).toHaveLength(1);
  });

  test('an object that was deleted: the next refresh creates it again', async () => {
    await define('community');
    publish(communityTopology, 'lost', { refreshMs: 300 });
    await published();
    const body = { apiVersion: 'v1', kind: 'DeleteOptions' };
    await admin.send({ method: 'DELETE', path: `${communityTopology.path}/lost`, body });
    await waitUntil('it is back', async () => (await readOrNot(communityTopology, 'lost')) !== undefined);
  });

  test('a missing right: it is logged once, and writes are tried again', async () => {
    await define('community');
    let calls = 0;
    const nobody = client(api.kubeconfigs.nobody);
    publish(communityTopology, 'forbidden', { as: { send: (call) => (calls++, nobody.send(call)) } });
    await waitUntil('three tries', () => calls >= 3);
    const problems = logLines('a right is missing, see deploy/components/api-server/rbac.yaml; this is not said again');
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatchObject({
      level: 30,
      verb: 'get',
      resource: 'noderesourcetopologies.topology.node.k8s.io',
      lost: expect.stringMatching(/schedulers do not see/) as string,
    });
    expect(problems[0]?.because).toMatch(/forbids it \(403\).*"nobody" cannot get/);
    expect(logLines('node topology can’t be published; trying again')).toEqual([]);
    expect(await readOrNot(communityTopology, 'forbidden')).toBeUndefined();
  });

  test('a server that is away, at the start and later: it gets the newest topology when it is back', async () => {
    await define('community');
    await api.kill();
    const publisher = publish(communityTopology, 'patient');
    await waitUntil('the reason', () =>
      logLines('node topology can’t be published; trying again').some(({ because }) =>
        because!.includes('ECONNREFUSED'),
      ),
    );
    await api.start();
    await published();
    await api.kill();
    available = 3;
    publisher.touch();
    available = 0;
    publisher.touch();
    await api.start();
    await published(2);
    expect((await read(communityTopology, 'patient')).zones[0]?.resources[0]).toMatchObject({ available: '0' });
  });
});
