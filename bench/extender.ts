// Measures a pod's filter and prioritize by `cpusetd extender`: the built bundle as a process, asked over HTTP as
// kube-scheduler does. A stand-in API server in another process has the nodes, their topologies and ten bound pods on
// each, and changes a hundred Nodes and twenty topologies a second. Each pod is new, wants whole CPUs in one zone, and
// its prioritize asks about the nodes that its filter has let pass. Beside it, in turns: a bare server that only parses
// the same requests, and answers with all names.
//
//     node bench/run.mjs extender [--quick] [--bundle FILE] [--before FILE] [names] [objects]
//
// The times are from the first byte of the request to the last of the answer. Our own time is that beyond the median of
// the bare server, for the same requests. Fails when its p99, of both requests together, is above 15 ms for 5,000 names
// with topology. Needs the build, or --bundle; --before measures a second bundle in turns with it.
import { spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { readCpuSeconds } from '../test/support/cpu-seconds';
import { readPeakMiB } from '../test/support/peak-memory';
import { percentile } from '../test/support/percentile';
import { createNode, nameOf } from './extender-node';
import { readArguments } from './nri/arguments';
import { printMachine, printTable } from './nri/figures';

const LIMIT_MS = 15;
const LARGE = 5_000;
const PATIENCE_MS = 120_000;
const POLICY = join(process.cwd(), 'deploy/scheduling/policy.yaml');
const { quick, bundle = join(process.cwd(), 'dist/cpusetd.js'), before, isWanted } = readArguments();
const sizes = quick ? [100] : [1_000, LARGE];
const metrics = ['cpu', 'mem'].flatMap((resource) =>
  ['avg_5m', 'max_avg_1h', 'max_avg_1d'].map((kind) => `${resource}_usage_${kind}`),
);

type Child = ChildProcessByStdio<Writable, Readable, null>;
/** All that were started; none outlives the bench. */
const children: ChildProcess[] = [];

interface Server {
  readonly pid: number;
  readonly port: number;
  stop(): void;
}

/** The addresses of the parts: the port of one, and the URL of the other. */
interface Facts {
  readonly port: number;
  readonly url: string;
}

/** Starts a part of this bench, which prints one line of JSON and ends with its input. */
async function startPart(
  name: string,
  ...args: readonly string[]
): Promise<{ readonly child: Child; readonly facts: Facts }> {
  const child = spawn(process.execPath, [join(__dirname, `${name}.js`), ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  children.push(child);
  const line = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
  return { child, facts: JSON.parse(String(line.value)) as Facts };
}

async function startEcho(): Promise<Server> {
  const { child, facts } = await startPart('extender-echo');
  return { pid: child.pid!, port: facts.port, stop: () => child.stdin.end() };
}

async function startExtender(file: string, args: readonly string[]): Promise<Server> {
  const common = [
    '--listen',
    '127.0.0.1:0',
    '--policy-config-path',
    POLICY,
    '--time-zone',
    'UTC',
    '--log-format',
    'json',
  ];
  const child = spawn(process.execPath, [file, 'extender', ...common, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const server = { pid: child.pid!, port: 0, stop: () => void child.kill() };
  for await (const line of createInterface({ input: child.stdout })) {
    const { port } = JSON.parse(line) as { readonly port?: number };
    if (port === undefined) continue;
    child.stdout.resume();
    const ready = { ...server, port };
    await untilReady(ready);
    return ready;
  }
  throw new Error('the extender has ended');
}

async function untilReady({ port }: Server): Promise<void> {
  const endMs = performance.now() + PATIENCE_MS;
  while (performance.now() < endMs) {
    if ((await fetch(`http://127.0.0.1:${port}/healthz`)).ok) return;
    await pause(50);
  }
  throw new Error('the extender has not read its cluster');
}

const agent = new Agent({ keepAlive: true });

/** The time until the last byte of the answer, and the answer. */
function post({ port }: Server, path: string, body: Buffer): Promise<{ readonly ms: number; readonly text: Buffer }> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': body.length };
    const startMs = performance.now();
    const call = request({ agent, host: '127.0.0.1', port, path, method: 'POST', headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('end', () => {
        const ms = performance.now() - startMs;
        const text = Buffer.concat(chunks);
        if (response.statusCode === 200) resolve({ ms, text });
        else reject(new Error(`${path}: ${response.statusCode} ${text.toString()}`));
      });
    });
    call.once('error', reject).end(body);
  });
}

/** The CPUs of the n-th pod. */
type CpusOf = (n: number) => number;
const ORDERS: Readonly<Record<string, CpusOf>> = {
  'pods of Deployments of 100': (n) => 1 + (Math.floor(n / 100) % 8),
  'each pod of another size than the one before': (n) => 1 + (n % 8),
};

/** A pod of 3 kB, as a Deployment makes them. */
function createPod(n: number, cpus: number): object {
  const amounts = { cpu: String(cpus), memory: '8Gi' };
  const env = Array.from({ length: 40 }, (_, i) => ({ name: `SETTING_${i}`, value: `the value of setting ${i}` }));
  return {
    metadata: {
      name: `bench-${n}`,
      namespace: 'default',
      uid: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
      annotations: { 'topology.crane.io/topology-awareness': 'true' },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'bench', uid: 'r', controller: true }],
    },
    spec: {
      containers: [
        { name: 'main', image: 'registry.example/i:1', env, resources: { requests: amounts, limits: amounts } },
      ],
    },
  };
}

interface FilterResult {
  readonly NodeNames: readonly string[] | null;
  readonly Nodes: { readonly items: readonly object[] } | null;
  readonly Error: string;
}

type Nodes =
  | { readonly NodeNames: readonly string[]; readonly Nodes: null }
  | { readonly NodeNames: null; readonly Nodes: { readonly items: readonly object[] } };

interface Times {
  readonly filter: number[];
  readonly prioritize: number[];
  readonly both: number[];
  passed: number;
}

async function askOnce(server: Server, Pod: object, nodes: Nodes, times: Times): Promise<void> {
  const filter = await post(server, '/filter', Buffer.from(JSON.stringify({ Pod, ...nodes })));
  const { Error: error, NodeNames, Nodes: objects } = JSON.parse(filter.text.toString()) as FilterResult;
  if (error !== '') throw new Error(error);
  const passed = { Pod, NodeNames, Nodes: objects };
  const prioritize = await post(server, '/prioritize', Buffer.from(JSON.stringify(passed)));
  times.filter.push(filter.ms);
  times.prioritize.push(prioritize.ms);
  times.both.push(filter.ms + prioritize.ms);
  times.passed = (NodeNames ?? objects?.items ?? []).length;
}

const WORKERS = 16;

/**
 * The order of nodes in a request: kube-scheduler's own plugins filter with 16 workers, which take pieces of √n
 * neighbours (chunkSizeFor in pkg/scheduler/framework/parallelize), and a node is appended when it has passed. So it is
 * another one for each pod.
 */
function interleave({ NodeNames, Nodes: objects }: Nodes, seed: number): Nodes {
  let state = seed + 1;
  const random = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const mix = <T>(all: readonly T[]): T[] => {
    const size = Math.max(1, Math.floor(Math.sqrt(all.length)));
    const pieces = Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size));
    const workers = pieces.splice(0, WORKERS).map((piece) => ({ piece, next: 0 }));
    const mixed: T[] = [];
    while (workers.length > 0) {
      const at = random(workers.length);
      const worker = workers[at]!;
      mixed.push(worker.piece[worker.next++]!);
      if (worker.next < worker.piece.length) continue;
      const piece = pieces.shift();
      if (piece) Object.assign(worker, { piece, next: 0 });
      else workers.splice(at, 1);
    }
    return mixed;
  };
  return NodeNames
    ? { NodeNames: mix(NodeNames), Nodes: null }
    : { NodeNames: null, Nodes: { items: mix(objects.items) } };
}

/**
 * Pods that one server is asked about before it is the turn of the next: a scheduler asks for one pod after the other
 * too.
 */
const TURN = 50;

/** Asks the servers in turns. */
async function measure(
  servers: Readonly<Record<string, Server>>,
  nodes: Nodes,
  rounds: number,
  cpusOf: CpusOf,
): Promise<Readonly<Record<string, Record<string, number>>>> {
  const noTimes = (): Times => ({ filter: [], prioritize: [], both: [], passed: 0 });
  const all = Object.entries(servers).map(([name, server]) => ({ name, server, times: noTimes(), cpuS: 0 }));
  const warmUp = Math.ceil(rounds / 10);
  for (let from = 0; from < warmUp + rounds; from += TURN)
    for (const each of all)
      for (let n = from; n < Math.min(from + TURN, warmUp + rounds); n++) {
        if (n === warmUp) each.cpuS = -readCpuSeconds(each.server.pid);
        const [pod, asked] = [createPod(n, cpusOf(n)), interleave(nodes, n)];
        await askOnce(each.server, pod, asked, n < warmUp ? noTimes() : each.times);
      }
  return Object.fromEntries(
    all.map(({ name, server, times, cpuS }) => [
      name,
      {
        'filter p50': percentile(times.filter, 0.5),
        'prioritize p50': percentile(times.prioritize, 0.5),
        'both p50': percentile(times.both, 0.5),
        'both p99': percentile(times.both, 0.99),
        'CPU ms/pod': ((cpuS + readCpuSeconds(server.pid)) * 1_000) / rounds,
        'nodes left': times.passed,
        'MiB now': readRssMiB(server.pid),
        'MiB peak': readPeakMiB(server.pid),
      },
    ]),
  );
}

function readRssMiB(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1_024;
}

/** Our bundles, and the bare server. */
async function start(args: readonly string[]): Promise<Record<string, Server>> {
  const servers: Record<string, Server> = { 'cpusetd extender': await startExtender(bundle, args) };
  if (before !== undefined) servers['before'] = await startExtender(before, args);
  servers['bare server'] = await startEcho();
  return servers;
}

/** True when it is fast enough. */
async function measureNames(folder: string, size: number): Promise<boolean> {
  const { child, facts } = await startPart('extender-stand-ins', String(size), ...metrics);
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      // The client uses plain HTTP only if it is told not to verify TLS.
      clusters: [{ name: 'c', cluster: { server: facts.url, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'u', user: { token: 'bench' } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  );
  const names = Array.from({ length: size }, (_, n) => nameOf(n));
  let isFast = true;
  for (const [order, cpusOf] of Object.entries(ORDERS)) {
    const servers = await start(['--kubeconfig', kubeconfig, '--plugins', 'Dynamic=3,NodeResourceTopologyMatch=2']);
    const rows = await measure(servers, { NodeNames: names, Nodes: null }, quick ? 20 : 1_000, cpusOf);
    printTable(`${size} names, Dynamic and NodeResourceTopologyMatch, ${order}; ms`, rows);
    const ownMs = rows['cpusetd extender']!['both p99']! - rows['bare server']!['both p50']!;
    console.log(`own time at p99: ${ownMs.toFixed(1)} ms; at most ${LIMIT_MS} for ${LARGE} names`);
    isFast &&= ownMs <= LIMIT_MS;
    for (const server of Object.values(servers)) server.stop();
  }
  child.stdin.end();
  return isFast || size < LARGE;
}

async function measureObjects(size: number): Promise<void> {
  const servers = await start(['--kubeconfig', 'off', '--plugins', 'Dynamic=3']);
  const items = Array.from({ length: size }, (_, n) => createNode(n, metrics));
  const rows = await measure(servers, { NodeNames: null, Nodes: { items } }, quick ? 5 : 100_000 / size, () => 4);
  printTable(`${size} Node objects of 9 kB, Dynamic; ms`, rows);
  for (const server of Object.values(servers)) server.stop();
}

async function main(): Promise<boolean> {
  printMachine();
  const folder = mkdtempSync(join(tmpdir(), 'bench-extender-'));
  try {
    let isFast = true;
    for (const size of sizes) {
      if (isWanted('names')) isFast = (await measureNames(folder, size)) && isFast;
      if (isWanted('objects')) await measureObjects(size);
    }
    return isFast;
  } finally {
    rmSync(folder, { recursive: true });
    agent.destroy();
    for (const child of children) child.kill();
  }
}

void main().then((isFast) => (process.exitCode = isFast ? 0 : 1));
