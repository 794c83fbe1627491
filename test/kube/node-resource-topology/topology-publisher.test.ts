import pino from 'pino';
import { PLAIN_RULES } from '../../../src/core/fit';
import { CpuSet } from '../../../src/core/cpuset';
import type { KubeRequest } from '../../../src/kube/api/kube-client';
import { KubeError } from '../../../src/kube/api/kube-error';
import type { JsonObject } from '../../../src/kube/json';
import { communityTopology } from '../../../src/kube/node-resource-topology/community-topology';
import { craneTopology } from '../../../src/kube/node-resource-topology/crane-topology';
import type { Report, TopologyKind } from '../../../src/kube/node-resource-topology/topology-resource';
import { TopologyPublisher } from '../../../src/kube/node-resource-topology/topology-publisher';
import { mergePatch } from '../../support/kube/merge-patch';
import { createRandom } from '../../support/random';

// The times of the publisher, with fake timers. Its objects are tested on a real API server: test/e2e/kube-api.test.ts.

// A timer of Node may fire 1 ms early; the publisher sets its timers 1 ms later for that reason.
const DEBOUNCE_MS = 30 + 1;
const REFRESH_MS = 5 * 60_000 + 1;

let end: AbortController;
beforeEach(() => {
  jest.useFakeTimers();
  end = new AbortController();
});
afterEach(() => {
  end.abort();
  jest.useRealTimers();
});

interface Options {
  readonly kind?: TopologyKind;
  /** The object as another writer left it. */
  readonly found?: JsonObject;
  /** The part of an object that the server keeps when it is written. */
  readonly prune?: (object: JsonObject) => JsonObject;
  readonly report?: Partial<Report>;
}

/** One object, stored and merged as the API server does; `forget` deletes it. */
function publish({ kind = communityTopology, found, prune = (object) => object, report = {} }: Options = {}) {
  let stored: JsonObject | undefined = found && {
    ...found,
    metadata: { name: 'n1', ...metaOf(found), resourceVersion: '1' },
  };
  let version = 1;
  let available = 4;
  let more = report;
  const calls: string[] = [];
  const bodies: JsonObject[] = [];
  const logged: { readonly level: number; readonly msg: string; readonly because?: string }[] = [];
  let failure: KubeError | undefined;
  const send = ({ method, body }: KubeRequest): Promise<unknown> => {
    calls.push(method);
    if (failure !== undefined) return Promise.reject(failure);
    if (stored === undefined && method !== 'POST') return Promise.reject(new KubeError('absent', 404));
    if (method === 'GET') return Promise.resolve(stored);
    bodies.push(body as JsonObject);
    const asked = metaOf(body as JsonObject)['resourceVersion'];
    if (asked !== undefined && asked !== metaOf(stored!)['resourceVersion'])
      return Promise.reject(new KubeError('changed', 409));
    const merged = prune(mergePatch(stored ?? {}, body) as JsonObject);
    stored = { ...merged, metadata: { ...metaOf(merged), resourceVersion: String(++version) } };
    return Promise.resolve(stored);
  };
  const publisher = new TopologyPublisher({
    client: { send },
    kind,
    nodeName: 'n1',
    node: () => ({ name: 'n1', uid: 'u1', labels: {} }),
    report: (node) => ({
      node,
      kubeletIsStatic: false,
      resources: {
        zones: [
          {
            id: 0,
            cpu: { capacity: 8, allocatable: 7, available },
            memoryBytes: 2 ** 30,
            reservedCpus: 1,
            unannounced: 7 - available,
            withheld: 0,
            room: { cpus: available, whole: available },
            roomWithResults: { cpus: available, whole: available },
            distances: new Map(),
          },
        ],
        topologyPolicy: 'none',
        topologyScope: 'container',
        pins: true,
        rules: PLAIN_RULES,
        bound: { now: available, withResults: available },
        reserved: CpuSet.empty,
        coreKinds: [],
      },
      ...more,
    }),
    log: pino(
      { level: 'debug' },
      { write: (line: string) => void logged.push(JSON.parse(line) as (typeof logged)[0]) },
    ),
    signal: end.signal,
  });
  return {
    touch: () => publisher.touch(),
    become: (count: number) => {
      available = count;
      publisher.touch();
    },
    report: (next: Partial<Report>) => {
      more = next;
      publisher.touch();
    },
    /** Another writer changes the object. */
    change: (patch: JsonObject) => {
      const merged = mergePatch(stored!, patch) as JsonObject;
      stored = { ...merged, metadata: { ...metaOf(merged), resourceVersion: String(++version) } };
    },
    forget: () => (stored = undefined),
    fail: (error: KubeError | undefined) => (failure = error),
    takeCalls: () => calls.splice(0),
    takeBodies: () => bodies.splice(0),
    stored: () => stored!,
    logged,
  };
}

function metaOf(object: JsonObject): JsonObject {
  return object['metadata'] as JsonObject;
}

/** Makes so many changes, each with the time to be published. */
async function touchOften({ touch }: { touch: () => void }, times = 20): Promise<void> {
  for (let i = 0; i < times; i++) {
    touch();
    await jest.advanceTimersByTimeAsync(DEBOUNCE_MS);
  }
}

test('changes are written as one, 30 ms after the first of them, and not before', async () => {
  const { become, takeCalls } = publish();
  become(4);
  await jest.advanceTimersByTimeAsync(DEBOUNCE_MS);
  expect(takeCalls()).toEqual(['GET', 'POST']);
  become(3);
  await jest.advanceTimersByTimeAsync(DEBOUNCE_MS - 1);
  become(2);
  expect(takeCalls()).toEqual([]);
  await jest.advanceTimersByTimeAsync(1);
  expect(takeCalls()).toEqual(['PATCH']);
  await jest.advanceTimersByTimeAsync(REFRESH_MS / 2);
  expect(takeCalls()).toEqual([]);
});

test('the object is read again every five minutes, and written when it was deleted', async () => {
  const { become, forget, takeCalls } = publish();
  become(4);
  await jest.advanceTimersByTimeAsync(DEBOUNCE_MS);
  expect(takeCalls()).toEqual(['GET', 'POST']);
  await jest.advanceTimersByTimeAsync(REFRESH_MS - 1);
  expect(takeCalls()).toEqual([]);
  await jest.advanceTimersByTimeAsync(1);
  expect(takeCalls()).toEqual(['GET']);
  forget();
  await jest.advanceTimersByTimeAsync(REFRESH_MS);
  expect(takeCalls()).toEqual(['GET', 'POST']);
});

test('an object that is deleted before a patch is created again at once', async () => {
  const { become, forget, takeCalls } = publish();
  become(4);
  await jest.advanceTimersByTimeAsync(DEBOUNCE_MS);
  takeCalls();
  forget();
  become(3);
  await jest.advanceTimersByTimeAsync(DEBOUNCE_MS);
  expect(takeCalls()).toEqual(['PATCH', 'GET', 'POST']);
});

describe('when the API server refuses every call', () => {
  const failWith = (status: number, options: { readonly retryAfterMs?: number } = {}) =>
    new KubeError(`status ${status}`, status, options);

  beforeEach(() => jest.spyOn(Math, 'random').mockReturnValue(0.5)); // no jitter
  afterEach(() => jest.restoreAllMocks());

  test.each`
    name                                         | error                                     | waitMs
    ${'a fault of the server'}                   | ${failWith(500)}                          | ${500}
    ${'a server that asks for a longer pause'}   | ${failWith(429, { retryAfterMs: 7_000 })} | ${7_000}
    ${'a missing right, for an administrator'}   | ${failWith(403)}                          | ${30_000}
    ${'a missing kind, for an administrator'}    | ${failWith(404)}                          | ${30_000}
    ${'an invalid object, for an administrator'} | ${failWith(422)}                          | ${30_000}
  `('$name: the next attempt is after $waitMs ms, and changes do not make it earlier', async ({ error, waitMs }) => {
    const { touch, fail, takeCalls } = publish();
    fail(error as KubeError);
    touch();
    await jest.advanceTimersByTimeAsync(DEBOUNCE_MS);
    takeCalls();
    touch();
    await jest.advanceTimersByTimeAsync(waitMs as number);
    expect(takeCalls()).toEqual([]);
    await jest.advanceTimersByTimeAsync(1);
    expect(takeCalls()[0]).toBe('GET');
  });

  test('the pause doubles with each failure, and is short again after a success', async () => {
    const { touch, fail, takeCalls } = publish();
    fail(failWith(500));
    touch();
    await jest.advanceTimersByTimeAsync(DEBOUNCE_MS + 501 + 1_001);
    expect(takeCalls()).toEqual(['GET', 'GET', 'GET']);
    fail(undefined);
    await jest.advanceTimersByTimeAsync(2_001);
    expect(takeCalls()).toEqual(['GET', 'POST']);
    fail(failWith(500));
    await jest.advanceTimersByTimeAsync(REFRESH_MS);
    takeCalls();
    await jest.advanceTimersByTimeAsync(501);
    expect(takeCalls()).toEqual(['GET']);
  });

  test('a problem is logged once, and its end once', async () => {
    const { touch, fail, logged } = publish();
    touch();
    await jest.advanceTimersByTimeAsync(DEBOUNCE_MS);
    fail(failWith(500));
    await jest.advanceTimersByTimeAsync(REFRESH_MS + 60_000);
    fail(undefined);
    await jest.advanceTimersByTimeAsync(2 * REFRESH_MS);
    expect(logged.filter(({ level }) => level >= 30).map(({ msg }) => msg)).toEqual([
      'node topology can’t be published; trying again',
      'node topology is published again',
    ]);
  });

  test('a missing kind is explained by the definition to apply', async () => {
    const { touch, fail, logged } = publish({ kind: craneTopology });
    fail(failWith(404));
    touch();
    await jest.advanceTimersByTimeAsync(DEBOUNCE_MS);
    expect(logged.map(({ because }) => because)).toEqual([
      'the API server does not know NodeResourceTopology of topology.crane.io/v1alpha1 (404): apply its definition from deploy/crds',
    ]);
  });
});

/** The object that crane-agent leaves: with its owner, its own attributes and amounts. */
const LEFT_BY_CRANE: JsonObject = {
  metadata: {
    ownerReferences: [
      { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'u1', controller: true, blockOwnerDeletion: true },
    ],
  },
  craneManagerPolicy: { cpuManagerPolicy: 'Static', topologyManagerPolicy: 'SingleNUMANodePodLevel' },
  reserved: { cpu: '500m', memory: '1Gi', 'ephemeral-storage': '1Gi' },
  attributes: { 'go.crane.io/reserved-system-cpus': '0', 'example.com/rack': 'r7' },
  zones: [
    {
      name: 'node0',
      type: 'Node',
      costs: [{ name: 'node0', value: 10 }],
      resources: {
        capacity: { cpu: '8', memory: '1Gi' },
        allocatable: { cpu: '7500m', memory: '0' },
        reservedCPUNums: 1,
      },
    },
  ],
};

/** The object that node-feature-discovery or resource-topology-exporter leaves. */
const LEFT_BY_EXPORTER: JsonObject = {
  metadata: {
    annotations: { 'topology.node.k8s.io/fingerprint': 'pfp0v001old', 'example.com/note': 'kept' },
    ownerReferences: [{ apiVersion: 'v1', kind: 'Namespace', name: 'nfd', uid: 'u-nfd' }],
  },
  topologyPolicies: ['None'],
  attributes: [
    { name: 'topologyManagerScope', value: 'pod' },
    { name: 'topologyManagerMaxNUMANodes', value: '16' },
    { name: 'nodeTopologyPodsFingerprint', value: 'pfp0v001old' },
    { name: 'topologyManagerScope', value: 'twice' },
  ],
  zones: [{ name: 'node-0', type: 'Node', attributes: [{ name: 'x', value: 'y' }], resources: [] }],
};

describe('an object of another writer', () => {
  test.each([
    ['crane', craneTopology, LEFT_BY_CRANE],
    ['community', communityTopology, LEFT_BY_EXPORTER],
  ] as const)('%s: one patch takes it over, and no equal report sends another', async (_name, kind, found) => {
    const publisher = publish({ kind, found });
    await touchOften(publisher);
    expect(publisher.takeCalls()).toEqual(['GET', 'PATCH']);
  });

  test('crane: removed keys of cpusetd are deleted, others stay', async () => {
    const publisher = publish({ kind: craneTopology, found: LEFT_BY_CRANE });
    await touchOften(publisher, 1);
    expect(publisher.takeBodies()).toEqual([
      {
        metadata: { resourceVersion: '1' },
        reserved: { cpu: '0', memory: null, 'ephemeral-storage': null },
        attributes: {
          'go.crane.io/reserved-system-cpus': '',
          'cpusetd.io/rules': '{"v":1,"policy":"static"}',
          'cpusetd.io/room': expect.any(String) as string,
        },
        zones: [expect.objectContaining({ name: 'node0' })],
      },
    ]);
    expect(publisher.stored()).toMatchObject({
      reserved: { cpu: '0' },
      attributes: { 'example.com/rack': 'r7' },
      metadata: LEFT_BY_CRANE['metadata'] as object,
    });
  });

  test('crane: given attributes of an earlier version: they are removed', async () => {
    const attributes = { 'cpusetd.io/cpus-per-core': '2', 'cpusetd.io/topology-manager-policy': 'restricted' };
    const publisher = publish({ kind: craneTopology, found: { metadata: {}, attributes } });
    await touchOften(publisher);
    expect(publisher.takeCalls()).toEqual(['GET', 'PATCH']);
    expect(Object.keys(publisher.stored()['attributes'] as object)).toEqual(['cpusetd.io/rules', 'cpusetd.io/room']);
  });

  test('community: attributes of cpusetd keep their positions, those of others stay, and the older fingerprint is removed', async () => {
    const publisher = publish({ found: LEFT_BY_EXPORTER, report: { fingerprint: 'pfp0v001new' } });
    await touchOften(publisher, 1);
    expect(publisher.stored()['attributes']).toEqual([
      { name: 'topologyManagerScope', value: 'container' },
      { name: 'topologyManagerMaxNUMANodes', value: '16' },
      { name: 'nodeTopologyPodsFingerprint', value: 'pfp0v001new' },
      { name: 'topologyManagerPolicy', value: 'none' },
      { name: 'nodeTopologyPodsFingerprintMethod', value: 'all' },
      { name: 'cpusetd.io/rules', value: '{"v":1,"policy":"static"}' },
      { name: 'cpusetd.io/room', value: expect.any(String) as string },
    ]);
    expect(metaOf(publisher.stored())).toMatchObject({
      annotations: { 'example.com/note': 'kept' },
      ownerReferences: [
        { kind: 'Namespace', uid: 'u-nfd' },
        { kind: 'Node', uid: 'u1' },
      ],
    });
    expect(JSON.stringify(publisher.stored())).not.toContain('pfp0v001old');
    publisher.report({}); // the pods are not known any more
    await touchOften(publisher, 3);
    expect(JSON.stringify(publisher.stored())).not.toContain('Fingerprint');
    expect(publisher.takeCalls()).toEqual(['GET', 'PATCH', 'PATCH']);
  });

  test('a reservation that the kubelet dropped is removed', async () => {
    const kubelet = { cpuManagerPolicy: 'none', reservedMilliCpu: 0 } as const;
    const publisher = publish({
      kind: craneTopology,
      report: { kubelet: { ...kubelet, reserved: { memory: 5, pid: 9 } } },
    });
    await touchOften(publisher, 2);
    publisher.report({ kubelet: { ...kubelet, reserved: { memory: 5 } } });
    await touchOften(publisher, 2);
    expect(publisher.takeCalls()).toEqual(['GET', 'POST', 'PATCH']);
    expect(publisher.takeBodies()[1]).toMatchObject({ reserved: { pid: null } });
    expect(publisher.stored()).toMatchObject({ reserved: { cpu: '0', memory: '5' } });
  });

  test('a Node that was created anew replaces the deleted one as the owner', async () => {
    const owner = { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'u-before' };
    const publisher = publish({ found: { metadata: { ownerReferences: [owner] } } });
    await touchOften(publisher, 1);
    expect(metaOf(publisher.stored())['ownerReferences']).toEqual([{ ...owner, uid: 'u1' }]);
  });

  test.each([craneTopology, communityTopology])(
    '$name: fields that the server drops are not sent again, and are logged once',
    async (kind) => {
      // A definition that knows fewer fields.
      const publisher = publish({ kind, prune: ({ attributes: _a, reserved: _r, ...rest }) => rest });
      await touchOften(publisher);
      expect(publisher.takeCalls()).toEqual(['GET', 'POST']);
      publisher.become(2);
      await touchOften(publisher);
      expect(publisher.takeCalls()).toEqual(['PATCH']);
      const warned = publisher.logged.filter(({ msg }) => msg.startsWith('the API server does not keep'));
      expect(warned).toHaveLength(1);
    },
  );
});

test.each<[string, (n: number) => JsonObject, string[]]>([
  ['in its annotations', (n) => ({ metadata: { annotations: { note: String(n) } } }), []],
  [
    'in its zones',
    (n) => ({ zones: [{ name: `x${n}` }] }),
    ['somebody else writes the topology of this node too; let only one do it'],
  ],
])(
  'given a writer that changes the object %s before each write: the changes are published, expected warnings are those of another publisher',
  async (_name, patch, warnings) => {
    const publisher = publish({ kind: craneTopology });
    await touchOften(publisher, 1);
    for (let n = 1; n < 6; n++) {
      publisher.change(patch(n));
      publisher.become(n);
      await jest.advanceTimersByTimeAsync(DEBOUNCE_MS);
      expect(publisher.stored()).toMatchObject({ zones: [{ resources: { allocatable: { cpu: String(n) } } }] });
    }
    expect(publisher.takeCalls()).toEqual([
      'GET',
      'POST',
      ...Array.from({ length: 5 }, () => ['PATCH', 'GET', 'PATCH']).flat(),
    ]);
    expect(publisher.logged.filter(({ level }) => level >= 40).map(({ msg }) => msg)).toEqual(warnings);
  },
);

test('changes and equal reports in any order: never more patches than changes', async () => {
  const publisher = publish();
  const random = createRandom(3);
  let [changes, last] = [1, 4]; // creating is one
  for (let i = 0; i < 500; i++) {
    if (random.chance(0.2)) {
      const next = random.int(0, 7);
      if (next !== last) changes++;
      publisher.become((last = next));
    } else publisher.touch();
    await jest.advanceTimersByTimeAsync(random.int(0, DEBOUNCE_MS));
  }
  const writes = publisher.takeCalls().filter((method) => method !== 'GET');
  expect(writes.length).toBeGreaterThan(20);
  expect(writes.length).toBeLessThanOrEqual(changes);
});
