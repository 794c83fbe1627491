import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { TOPOLOGY_RESULT } from '../../src/core/annotations/topology-result';
import { runExtender } from '../../src/scheduling/extender/run-extender';
import { TimeZone } from '../../src/scheduling/load/time-zone';
import type { Rules } from '../core/transition/node-driver';
import { FakeApiServer } from '../support/kube/api-server';
import { createRandom, type Random } from '../support/random';
import { waitUntil } from '../support/wait-until';
import { CRANE, Stage, viewerRights } from './stage';

// `kubectl cpuset why-not` and the extender, asked about the same pods and nodes of one API server.

const EXTENDER_RIGHTS = ['/nodes', '/pods', 'topology.crane.io/noderesourcetopologies'].flatMap((resource) =>
  ['list', 'watch'].map((verb) => `${resource} ${verb}`),
);

let stage: Stage;
let folder: string;
let end: AbortController;
let running: Promise<void>;
let port: number;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'same-as-extender-'));
  stage = await new Stage(new FakeApiServer({ rights: new Set([...viewerRights(), ...EXTENDER_RIGHTS]) })).start();
  end = new AbortController();
  port = 0;
});
afterEach(async () => {
  end.abort();
  await running;
  await stage.stop();
  rmSync(folder, { recursive: true });
});

/** Runs the extender in this process, and waits until its caches are filled. */
async function startExtender(resources: readonly string[]): Promise<void> {
  writeFileSync(join(folder, 'kubeconfig'), stage.server.kubeconfig);
  running = runExtender({
    policy: { path: '', first: { syncPolicy: [], predicate: [], priority: [], hotValue: [] } },
    zone: TimeZone.of('UTC'),
    kubeconfig: { kind: 'file', path: join(folder, 'kubeconfig') },
    listen: { host: '127.0.0.1', port: 0 },
    plugins: { NodeResourceTopologyMatch: 2 },
    resources,
    maxRequestBytes: 2 ** 20,
    isDryRun: false,
    log: pino({}, { write: (line: string) => (port = (JSON.parse(line) as { readonly port?: number }).port ?? port) }),
    signal: end.signal,
  });
  await waitUntil('the port', () => port !== 0);
  await waitUntil('the caches', async () => (await fetch(`http://127.0.0.1:${port}/healthz`)).ok);
}

async function filter(pod: object, names: readonly string[]): Promise<ReadonlySet<string>> {
  const answer = await fetch(`http://127.0.0.1:${port}/filter`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ Pod: pod, NodeNames: names }),
  });
  return new Set(((await answer.json()) as { readonly NodeNames: readonly string[] }).NodeNames);
}

interface JudgedNode {
  readonly name: string;
  readonly obstacles: readonly string[];
  readonly warnings: readonly string[];
}

async function whyNot(pod: string, resources: string): Promise<ReadonlyMap<string, JudgedNode>> {
  const { stdout } = await stage.run(['why-not', pod, '-o', 'json', '--topology-aware-resources', resources]);
  const { nodes } = JSON.parse(stdout) as { readonly nodes: readonly JudgedNode[] };
  return new Map(nodes.map((node) => [node.name, node]));
}

function randomRules(random: Random): Rules {
  return {
    cpuManagerPolicy: random.pick(['static', 'static', 'exclusive', 'immovable', 'numa', 'none'] as const),
    ...(random.chance(0.3) && { podPolicies: ['static', 'exclusive', 'immovable', 'none'] }),
    options: { fullPcpusOnly: random.chance(0.3), alignBySocket: random.chance(0.2) },
    minSharedCpus: random.int(1, 3),
    ...(random.chance(0.2) && { leaveAlone: [{ text: 'shop/p1*', namespace: 'shop', pod: 'p1*' }] }),
    ...(random.chance(0.6) && {
      topologyManager: {
        policy: random.pick(['best-effort', 'restricted', 'single-numa-node'] as const),
        scope: random.pick(['container', 'pod'] as const),
        options: { preferClosestNumaNodes: false, maxAllowableNumaNodes: 8 },
      },
    }),
  };
}

/** Of cpusetd: ready, not ready, silent for long, and not written. */
const CONDITIONS = [{}, { status: 'False' }, { lastHeartbeatTime: '2026-01-01T00:00:00Z' }, null];

/** The extender reads Crane's kind alone. */
const COMMUNITY_ONLY = 'community-only';

function addNodes(random: Random): string[] {
  return Array.from({ length: 16 }, (_, i) => {
    const name = `n${i}`;
    const steps = Array.from({ length: random.int(0, 3) }, (_pod, n) => `make old${n}/x ${random.int(1, 4)}`);
    const claimant = random.pick(['claimed', 'p0', 'p1', `bound-${i}`]);
    const claim = { pod: `shop/${claimant}`, zones: { node1: { cpu: '2' } }, at: new Date().toISOString() };
    const assumed = { [`uid-${claimant}`]: claim };
    stage.addNode(name, {
      publishes: random.pick(['crane', 'crane', 'both', 'both', 'none'] as const),
      rules: randomRules(random),
      ...(steps.length > 0 && { steps: steps.join('; ') }),
      condition: random.pick(CONDITIONS),
      ...(random.chance(0.5) && { annotations: { 'cpusetd.io/assumed-pods': JSON.stringify(assumed) } }),
    });
    limitMemory(random, name);
    // The requested resources are not the extender's: nothing of it is in the way.
    const { status, ...node } = stage.server.get('/api/v1/nodes', name)!;
    stage.server.put('/api/v1/nodes', { ...node, status: { ...(status as object), allocatable: { cpu: '999' } } });
    const zone = (id: number) => ({ name: `node${id}`, type: 'Node', resources: { capacity: { cpu: `${random.int(0, 3)}` } } }); // prettier-ignore
    const annotations = { [TOPOLOGY_RESULT]: JSON.stringify([zone(0), zone(1)]) };
    if (random.chance(0.5)) stage.addPod('shop', `bound-${i}`, [random.int(1, 6)], { node: name, annotations });
    return name;
  });
}

/** The zones of Crane's kind have little memory or much. */
function limitMemory(random: Random, name: string): void {
  const topology = stage.server.get(CRANE, name);
  if (!topology) return;
  const zones = (topology['zones'] as { readonly resources: { readonly allocatable: object } }[]).map((zone) => {
    const allocatable = { ...zone.resources.allocatable, memory: random.pick(['1Gi', '8Gi']) };
    return { ...zone, resources: { ...zone.resources, allocatable } };
  });
  stage.server.put(CRANE, { ...topology, zones });
}

/** Init containers, sidecars and app containers, each with whole CPUs or without. */
function createSpec(random: Random): object {
  const create = (name: string, more: object = {}) => {
    const cpu = random.chance(0.2) ? `${random.int(1, 9)}00m` : String(random.int(1, 8));
    const amounts = { cpu, memory: random.pick(['64Mi', '2Gi']) };
    return { name, ...more, resources: { requests: amounts, limits: random.chance(0.9) ? amounts : {} } };
  };
  const some = (name: string, least: number, more?: () => object) =>
    Array.from({ length: random.int(least, 2) }, (_, i) => create(`${name}-${i}`, more?.()));
  return {
    initContainers: some('init', 0, () => (random.chance(0.5) ? { restartPolicy: 'Always' } : {})),
    containers: some('app', 1),
  };
}

test.each([
  ...[1, 2, 3, 4, 5].map((seed) => ({ seed, resources: 'cpu' })),
  ...[6, 7, 8].map((seed) => ({ seed, resources: 'cpu,memory' })),
])('seed $seed, looking at $resources: for each pod and each node both say the same', async ({ seed, resources }) => {
  const random = createRandom(seed);
  const names = addNodes(random);
  const pods = Array.from({ length: 16 }, (_, i) => {
    const annotations = {
      ...(random.chance(0.4) && { 'topology.crane.io/topology-awareness': 'false' }),
      ...(random.chance(0.3) && { 'cpusetd.io/policy': random.pick(['static', 'exclusive', 'immovable', 'none']) }),
    };
    const isOfOne = random.chance(0.3);
    stage.addPod('shop', `p${i}`, [random.int(1, 8)], { annotations, ...(!isOfOne && { spec: createSpec(random) }) });
    return `p${i}`;
  });
  stage.addPod('shop', 'shared', ['500m']);
  stage.addNode(COMMUNITY_ONLY);
  await startExtender(resources.split(','));
  const answers = { yes: 0, no: 0, warnings: 0 };
  for (const name of [...pods, 'shared']) {
    const object = stage.server.get('/api/v1/pods', name, 'shop')!;
    const [fitting, judged] = [
      await filter(object, [...names, COMMUNITY_ONLY]),
      await whyNot(`shop/${name}`, resources),
    ];
    for (const node of names) {
      const { obstacles, warnings } = judged.get(node)!;
      const because = obstacles.join('; ');
      expect({ name, node, because, fits: because === '' }).toEqual({ name, node, because, fits: fitting.has(node) });
      answers[because === '' ? 'yes' : 'no']++;
      answers.warnings += warnings.length;
    }
    // An extender leaves such a node out for each pod that wants whole CPUs; kubectl takes what is free there.
    expect(judged.get(COMMUNITY_ONLY)!.obstacles.join()).not.toContain('publishes no NodeResourceTopology');
    if (name === 'shared') expect([...fitting]).toEqual([...names, COMMUNITY_ONLY]);
  }
  expect(Math.min(...Object.values(answers))).toBeGreaterThan(20);
});
