// What the CRI proxy adds to a call: direct socket, our proxy, and a node:http2 proxy, interleaved in one run.
//   node bench/run.mjs proxy [--client frames|grpc-js] [--runtime frames|grpc-js|PATH] [--rounds N] [--scale N] [--memory CALLS]
// PATH is a real runtime's socket (Version only). Times are of the whole call, as the client sees it.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openFrames, openGrpcJs, type Caller } from './proxy-load';

const { values } = parseArgs({
  options: {
    client: { type: 'string', default: 'frames' },
    runtime: { type: 'string', default: 'frames' },
    rounds: { type: 'string', default: '5' },
    scale: { type: 'string', default: '1' },
    memory: { type: 'string', default: '20000' },
  },
});

const isRealRuntime = values.runtime.startsWith('/');
const methods = [
  { name: 'Version', message: Buffer.alloc(5, 1), calls: 2000 },
  ...(isRealRuntime
    ? []
    : [
        { name: 'ListContainers', message: Buffer.alloc(2, 1), calls: 600 },
        { name: 'CreateContainer', message: Buffer.alloc(4300, 1), calls: 1000 },
      ]),
];

async function start(children: ChildProcess[], script: string, ...args: string[]): Promise<ChildProcess> {
  const child = fork(join(__dirname, `${script}.js`), args);
  children.push(child);
  await once(child, 'message');
  return child;
}

async function run(
  caller: Caller,
  method: (typeof methods)[number],
  inFlight: number,
  calls: number,
): Promise<{ times: number[]; ms: number }> {
  const times: number[] = [];
  let left = calls;
  const begin = performance.now();
  const worker = async (): Promise<void> => {
    while (left-- > 0) {
      const from = performance.now();
      await caller.call(method.name, method.message);
      times.push(performance.now() - from);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return { times, ms: performance.now() - begin };
}

function quantile(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN;
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'cpusetd-b-'));
  const children: ChildProcess[] = [];
  try {
    const direct = isRealRuntime ? values.runtime : join(folder, 'r');
    if (!isRealRuntime) await start(children, 'proxy-runtime', values.runtime, direct);
    const ours = await start(children, 'proxy-relay', 'frames', join(folder, 'f'), direct);
    await start(children, 'proxy-relay', 'streams', join(folder, 's'), direct);
    const open = values.client === 'grpc-js' ? openGrpcJs : openFrames;
    const targets = {
      direct: await open(direct),
      frames: await open(join(folder, 'f')),
      streams: await open(join(folder, 's')),
    };
    console.log(`client ${values.client}, runtime ${isRealRuntime ? 'real' : values.runtime}, node ${process.version}`);
    for (const method of methods) {
      for (const inFlight of [1, 8, 32]) await compare(targets, method, inFlight);
    }
    await measureMemory(ours, targets.frames);
    for (const target of Object.values(targets)) target.close();
  } finally {
    for (const child of children) child.kill();
    rmSync(folder, { recursive: true });
  }
}

async function compare(
  targets: Readonly<Record<string, Caller>>,
  method: (typeof methods)[number],
  inFlight: number,
): Promise<void> {
  const calls = Math.round(method.calls * Number(values.scale)) * (inFlight === 1 ? 1 : 3);
  const all = Object.fromEntries(
    Object.keys(targets).map((name) => [name, { times: [] as number[], rates: [] as number[] }]),
  );
  for (let round = -1; round < Number(values.rounds); round++) {
    for (const [name, caller] of Object.entries(targets)) {
      const { times, ms } = await run(caller, method, inFlight, round < 0 ? Math.ceil(calls / 2) : calls);
      if (round < 0) continue; // warming up
      all[name]!.times.push(...times);
      all[name]!.rates.push((calls / ms) * 1000);
    }
  }
  const base = all['direct']!.times.sort((a, b) => a - b);
  for (const [name, { times, rates }] of Object.entries(all)) {
    times.sort((a, b) => a - b);
    rates.sort((a, b) => a - b);
    const added = (part: number): string => (quantile(times, part) - quantile(base, part)).toFixed(3).padStart(7);
    const rate = quantile(rates, 0.5);
    const share = rate / quantile(all['direct']!.rates, 0.5);
    console.log(
      `${method.name.padEnd(16)} ${String(inFlight).padStart(2)} in flight  ${name.padEnd(8)}` +
        ` p50 ${quantile(times, 0.5).toFixed(3)} ms (+${added(0.5)})  p99 ${quantile(times, 0.99).toFixed(3)} ms (+${added(0.99)})` +
        `  ${String(Math.round(rate)).padStart(6)} calls/s (${share.toFixed(2)} of direct)`,
    );
  }
}

async function measureMemory(ours: ChildProcess, caller: Caller): Promise<void> {
  const readRss = async (): Promise<string> => {
    ours.send('rss');
    const [bytes] = (await once(ours, 'message')) as [number];
    return `${(bytes / 1_048_576).toFixed(0)} MiB`;
  };
  const before = await readRss();
  await run(caller, methods[0]!, 32, Number(values.memory));
  console.log(`memory of the proxy process: ${before}, after ${values.memory} more calls ${await readRss()}`);
}

void main();
