/**
 * Pods a second through a real kube-scheduler on 1,000 nodes: alone, and with the extender that filters, scores and
 * binds them all.
 *
 * Method: a real API server and kube-scheduler of the project's Go modules; 1,000 Node objects, each with load figures
 * and with a NodeResourceTopology of two zones of 32 CPUs, and nothing behind them. Pods of one CPU are created while
 * the scheduler is stopped; the time is that from its first binding to its last. The ways take turns. The scheduler
 * scores all nodes. All processes share the machine's CPUs, so the extender's part is told beside: it is no bottleneck
 * while it waits for the others, that is below 100 % of one CPU.
 *
 * Arguments: --quick, and the ways that are wanted: alone, dynamic, topology (all).
 */
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import type { KubeClient } from '../src/kube/api/kube-client';
import { ask, Extender } from '../test/cluster/load-aware/rig/extender';
import { formatSchedulerConfig } from '../test/cluster/load-aware/rig/scheduler-config';
import { Cluster, schedulingManifests } from '../test/cluster/scheduling/rig/cluster';
import { createNode } from '../test/cluster/scheduling/rig/create-node';
import { topologyPaths } from '../test/cluster/scheduling/rig/objects';
import { readCpuSeconds } from '../test/support/cpu-seconds';
import { inParallel } from '../test/support/in-parallel';
import { percentile } from '../test/support/percentile';
import { waitUntil } from '../test/support/wait-until';
import { readArguments } from './nri/arguments';
import { printMachine, printTable } from './nri/figures';

const { quick, isWanted } = readArguments();
const nodeCount = quick ? 50 : 1_000;
const podCount = quick ? 30 : 500;
/** The ways take turns; their medians are told. */
const rounds = quick ? 1 : 3;
/** Requests to the API server that are under way at once. */
const PARALLEL = 16;
const PATIENCE_MS = 300_000;
const POLICY = 'deploy/scheduling/policy.yaml';

const WAYS = {
  alone: undefined,
  dynamic: 'Dynamic=3',
  topology: 'Dynamic=3,NodeResourceTopologyMatch=2',
} as const;
type Way = keyof typeof WAYS;
const ways = (Object.keys(WAYS) as Way[]).filter(isWanted);

async function main(): Promise<void> {
  printMachine();
  const cluster = await Cluster.start({ kind: 'crane', manifests: schedulingManifests });
  try {
    console.log(
      `${nodeCount} nodes, ${podCount} pods of one CPU, Kubernetes ${cluster.plane.versions['kube-scheduler']}`,
    );
    await inParallel(PARALLEL, nodeCount, (n) => createNodeWithTopology(cluster.client, n));
    // The first pods of a cluster are slow, whatever binds them.
    if (!quick) await measure(cluster, 'alone');
    const measured = new Map<Way, Figures[]>(ways.map((way) => [way, []]));
    for (let round = 0; round < rounds; round++)
      for (const way of ways) measured.get(way)!.push(await measure(cluster, way));
    const rows = Object.fromEntries([...measured].map(([way, figures]) => [way, takeMedians(figures)]));
    printTable(`kube-scheduler, all nodes scored; medians of ${rounds}`, rows);
  } finally {
    await cluster.stop();
  }
}

type Figures = Readonly<Record<string, number>>;

function takeMedians(all: readonly Figures[]): Figures {
  const names = Object.keys(all[0]!);
  const values = (name: string): number[] => all.map((each) => each[name]!);
  const medians = names.map((name) => [name, percentile(values(name), 0.5)] as const);
  const perSecond = values('pods/s');
  return {
    ...Object.fromEntries(medians),
    'least pods/s': Math.min(...perSecond),
    'most pods/s': Math.max(...perSecond),
  };
}

async function measure(cluster: Cluster, way: Way): Promise<Figures> {
  const plugins = WAYS[way];
  const args = [
    '--policy-config-path',
    POLICY,
    '--kubeconfig',
    cluster.kubeconfigOf('cpusetd-extender', 'cpusetd-scheduling'),
  ];
  const extender = plugins === undefined ? undefined : await Extender.start([...args, '--plugins', plugins]);
  await inParallel(PARALLEL, podCount, (n) =>
    cluster.create({ name: `${way}-${n}`, cpus: 1, scheduler: 'default-scheduler' }),
  );
  const boundMs = new Map<string, number>();
  let atFirst: Usage | undefined;
  const stopListening = cluster.pods.listen((_type, { metadata, spec }) => {
    if (spec.nodeName === undefined || boundMs.has(metadata.name)) return;
    boundMs.set(metadata.name, performance.now());
    atFirst ??= readUsage(extender?.pid);
  });
  try {
    await cluster.startScheduler(configurationFor(extender));
    await waitUntil('all pods to be bound', () => boundMs.size === podCount, PATIENCE_MS, { seen: () => boundMs.size });
    const times = [...boundMs.values()].sort((a, b) => a - b);
    const seconds = (times.at(-1)! - times[0]!) / 1_000;
    const atEnd = readUsage(extender?.pid);
    const busy = (atEnd.machineS - atFirst!.machineS) / ((atEnd.atMs - atFirst!.atMs) / 1_000) / cpus().length;
    const figures = { 'pods/s': (podCount - 1) / seconds, 'all CPUs busy, %': busy * 100 };
    if (!extender) return figures;
    const spentS = atEnd.processS - atFirst!.processS;
    return {
      ...figures,
      'extender, % of one CPU': (spentS / ((atEnd.atMs - atFirst!.atMs) / 1_000)) * 100,
      'extender, CPU ms/pod': (spentS * 1_000) / podCount,
      ...(await readRequests(extender)),
    };
  } finally {
    stopListening();
    await cluster.stopScheduler('kube-scheduler');
    await extender?.stop();
    await removeAll(cluster);
  }
}

/**
 * kube-scheduler's configuration, with all nodes scored, and without its own limit of 50 requests a second, which only
 * its own bindings meet.
 */
function configurationFor(extender: Extender | undefined): string {
  const settings = extender && { urlPrefix: `http://127.0.0.1:${extender.port}` };
  return formatSchedulerConfig(settings, {
    percentageOfNodesToScore: 100,
    clientConnection: { kubeconfig: '/etc/kubernetes/scheduler.conf', qps: 5_000, burst: 5_000 },
  });
}

/** The extender's mean time of a request in milliseconds, by verb, from its own metrics. */
async function readRequests({ port }: Extender): Promise<Record<string, number>> {
  const { text } = await ask(port, '/metrics');
  const read = (part: 'sum' | 'count', verb: string): number =>
    Number(
      new RegExp(`^cpusetd_extender_request_seconds_${part}\\{verb="${verb}"[^}]*\\} (\\S+)$`, 'm').exec(text)?.[1] ??
        NaN,
    );
  return Object.fromEntries(
    ['filter', 'prioritize', 'bind'].map((verb) => [`ms/${verb}`, (read('sum', verb) / read('count', verb)) * 1_000]),
  );
}

const zone = (id: number) => ({
  name: `node${id}`,
  type: 'Node',
  resources: { capacity: { cpu: '32' }, allocatable: { cpu: '32' } },
});

async function createNodeWithTopology(client: KubeClient, n: number): Promise<void> {
  const name = `node-${n}`;
  const stamp = `${new Date(Date.now() + 8 * 3_600_000).toISOString().slice(0, 19)}Z`; // the default time zone is Asia/Shanghai
  const ratio = (0.1 + (n % 50) / 100).toFixed(5);
  const metrics = ['cpu', 'mem'].flatMap((resource) =>
    ['avg_5m', 'max_avg_1h', 'max_avg_1d'].map((kind) => `${resource}_usage_${kind}`),
  );
  const annotations = Object.fromEntries(metrics.map((metric) => [metric, `${ratio},${stamp}`]));
  await createNode(client, { name, cpus: 64, memoryMib: 262_144, annotations });
  const topology = {
    apiVersion: 'topology.crane.io/v1alpha1',
    kind: 'NodeResourceTopology',
    metadata: { name },
    craneManagerPolicy: { cpuManagerPolicy: 'Static', topologyManagerPolicy: 'SingleNUMANodePodLevel' },
    zones: [zone(0), zone(1)],
  };
  await client.send({ method: 'POST', path: topologyPaths.crane, body: topology });
}

/** Pods that are bound to a node without a kubelet go at once when no time for their end is given. */
async function removeAll({ client, pods }: Cluster): Promise<void> {
  const names = [...pods.byName.keys()];
  await inParallel(PARALLEL, names.length, async (n) => {
    const path = `/api/v1/namespaces/default/pods/${names[n]}`;
    await client.send({ method: 'DELETE', path, query: { gracePeriodSeconds: '0' } });
  });
  await waitUntil('the pods to be gone', () => pods.byName.size === 0, PATIENCE_MS);
}

/** CPU time until now, in seconds. */
interface Usage {
  readonly atMs: number;
  readonly machineS: number;
  readonly processS: number;
}

/** Of the whole machine without idle time, and of the process; 100 ticks a second. */
function readUsage(pid: number | undefined): Usage {
  const machine = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]!.split(/ +/).slice(1).map(Number);
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = machine;
  return {
    atMs: performance.now(),
    machineS: (user + nice + system + irq + softirq) / 100,
    processS: pid === undefined ? 0 : readCpuSeconds(pid),
  };
}

void main();
