// Measures a full sync of `cpusetd annotator`: all metrics of the default policy for 5,000 nodes, from the start of the
// process to the last patch. The built bundle runs as a process of its own beside a stand-in API server over TLS and a
// stand-in Prometheus in another process. Beside it: crane-scheduler-controller's form of the same (up to three queries
// and two patches for each node and metric), as a plain loop in Node over a sample of nodes on the same stand-ins,
// scaled to all nodes. The stand-ins evaluate no expressions, so the cost of 60,000 queries to a real Prometheus is not
// in it.
//
//     node bench/run.mjs annotator [--quick] [--nodes N] [--bundle FILE]
//
// Fails when the sync takes more than 5 s of own CPU time, more queries than metrics, or more than 256 MiB. Needs the
// build and openssl.
import { spawn, execFileSync, type ChildProcessByStdio } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { readCpuSeconds } from '../test/support/cpu-seconds';
import { readPeakMiB } from '../test/support/peak-memory';

const CPU_LIMIT_S = 5;
const MEMORY_LIMIT_MIB = 256;
const SAMPLE = 200;

const args = process.argv.slice(2);
const valueOf = (name: string): string | undefined => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined);
const isQuick = args.includes('--quick');
const nodes = Number(valueOf('--nodes') ?? (isQuick ? 200 : 5_000));
const bundle = valueOf('--bundle') ?? join(process.cwd(), 'dist/cpusetd.js');
const metrics = ['cpu', 'mem'].flatMap((resource) => [
  `${resource}_usage_avg_5m`,
  `${resource}_usage_max_avg_1h`,
  `${resource}_usage_max_avg_1d`,
]);
const periods: Readonly<Record<string, string>> = { '5m': '3m', '1h': '15m', '1d': '3h' };

interface Counts {
  readonly queries: number;
  readonly patches: number;
  readonly watchEvents: number;
  readonly connections: number;
  readonly written: number;
  readonly cpuS: number;
}

type Child = ChildProcessByStdio<Writable, Readable, null>;
const readLine = (child: Child): (() => Promise<string>) => {
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return async () => String((await lines.next()).value);
};

async function main(folder: string): Promise<boolean> {
  const [certificate, key] = [join(folder, 'server.crt'), join(folder, 'server.key')];
  const subject = ['-subj', '/CN=bench', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2'];
  const files = ['-keyout', key, '-out', certificate];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...files, ...subject], { stdio: 'ignore' });
  const standIns = spawn(
    process.execPath,
    [join(__dirname, 'annotator-stand-ins.js'), String(nodes), certificate, key, ...metrics],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  const next = readLine(standIns);
  const { api, prometheus } = JSON.parse(await next()) as Record<'api' | 'prometheus', string>;
  const count = async (): Promise<Counts> => {
    standIns.stdin.write('\n');
    return JSON.parse(await next()) as Counts;
  };
  try {
    const ours = await measureOurs({ folder, certificate, api, prometheus, count });
    const upstream = await measureUpstream({ certificate, api, prometheus });
    return report(ours, upstream);
  } finally {
    standIns.stdin.end();
  }
}

interface Measured extends Counts {
  readonly seconds: number;
  readonly ownCpuS: number;
  readonly peakMiB: number;
}

async function measureOurs(given: {
  readonly folder: string;
  readonly certificate: string;
  readonly api: string;
  readonly prometheus: string;
  readonly count: () => Promise<Counts>;
}): Promise<Measured> {
  const { folder, certificate, api, prometheus, count } = given;
  const [policy, kubeconfig] = [join(folder, 'policy.yaml'), join(folder, 'kubeconfig')];
  const syncPolicy = metrics.map((name) => ({ name, period: periods[name.slice(-2)] }));
  const hotValue = [
    { timeRange: '5m', count: 5 },
    { timeRange: '1m', count: 2 },
  ];
  const head = { apiVersion: 'scheduler.policy.crane.io/v1alpha1', kind: 'DynamicSchedulerPolicy' };
  const predicate = [{ name: metrics[0], maxLimitPecent: 0.65 }];
  const priority = metrics.map((name) => ({ name, weight: 0.2 }));
  writeFileSync(policy, JSON.stringify({ ...head, spec: { syncPolicy, predicate, priority, hotValue } }));
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      clusters: [{ name: 'c', cluster: { server: api, 'certificate-authority': certificate } }],
      users: [{ name: 'u', user: { token: 'bench' } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  );
  const begunMs = performance.now();
  const annotator = spawn(
    process.execPath,
    [
      ...[bundle, 'annotator', '--policy-config-path', policy, '--prometheus-address', prometheus],
      ...['--kubeconfig', kubeconfig, '--health-port', '0', '--log-level', 'warn'],
    ],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  );
  try {
    for (;;) {
      const counts = await count();
      if (annotator.exitCode !== null) throw new Error(`the annotator has ended with ${annotator.exitCode}`);
      if (counts.written < nodes) {
        await pause(50);
        continue;
      }
      const seconds = (performance.now() - begunMs) / 1000;
      await pause(1_000); // the last events of the watch
      const ownCpuS = readCpuSeconds(annotator.pid!);
      return { ...counts, seconds, ownCpuS, peakMiB: readPeakMiB(annotator.pid!) };
    }
  } finally {
    annotator.kill();
  }
}

interface Upstream {
  readonly cpuS: number;
  readonly queries: number;
  readonly patches: number;
}

async function measureUpstream(given: {
  readonly certificate: string;
  readonly api: string;
  readonly prometheus: string;
}): Promise<Upstream> {
  const { certificate, api, prometheus } = given;
  const run = async (sample: number): Promise<Upstream> => {
    const script = join(__dirname, 'annotator-upstream.js');
    const child: Child = spawn(process.execPath, [script, api, certificate, prometheus, String(sample), ...metrics], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    return JSON.parse(await readLine(child)()) as Upstream;
  };
  const start = await run(0);
  const sample = Math.min(SAMPLE, nodes);
  const measured = await run(sample);
  const scale = nodes / sample;
  return {
    cpuS: (measured.cpuS - start.cpuS) * scale,
    queries: measured.queries * scale,
    patches: measured.patches * scale,
  };
}

function report(ours: Measured, upstream: Upstream): boolean {
  console.log(`${nodes} nodes, ${metrics.length} metrics, from the start of the process to the last patch:`);
  console.table({
    'cpusetd annotator': {
      queries: ours.queries,
      patches: ours.patches,
      'own CPU s': Number(ours.ownCpuS.toFixed(2)),
      'peak MiB': Math.round(ours.peakMiB),
      'elapsed s': Number(ours.seconds.toFixed(1)),
    },
    "upstream's form, scaled": {
      queries: upstream.queries,
      patches: upstream.patches,
      'own CPU s': Number(upstream.cpuS.toFixed(2)),
    },
  });
  console.log(
    `TLS connections: ${ours.connections}; events of the watch: ${ours.watchEvents}; limits: ${metrics.length} queries, ${CPU_LIMIT_S} s, ${MEMORY_LIMIT_MIB} MiB`,
  );
  return ours.queries <= metrics.length && ours.ownCpuS <= CPU_LIMIT_S && ours.peakMiB <= MEMORY_LIMIT_MIB;
}

const folder = mkdtempSync(join(tmpdir(), 'bench-annotator-'));
void main(folder)
  .then((isWithin) => (process.exitCode = isWithin ? 0 : 1))
  .finally(() => rmSync(folder, { recursive: true }));
