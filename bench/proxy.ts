// Measures the time that the CRI proxy adds to a call, beside the direct socket, a relay that only passes bytes on, and
// a proxy on node:http2, in alternation within one run.
// node bench/run.mjs proxy [--runtime containerd|frames|grpc-js] [--client frames|grpc-js] [--rounds N] [--scale N]
// [--memory CALLS] [--quick]
// With containerd (the default; build and root needed) the built daemon stands before Debian's containerd 1.7 with 100
// containers, as it would on a node, and creations are timed end to end. The others measure the data path alone, before
// a runtime that only answers. Times are of the whole call, as the client sees it.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { percentile } from '../test/support/percentile';
import { openFrames, openGrpcJs, type Caller } from './proxy-load';
import { openNode } from './proxy-node';
import { median } from './nri/figures';
import { residentMiB } from './nri/plugin-process';

const { values } = parseArgs({
  options: {
    client: { type: 'string', default: 'frames' },
    runtime: { type: 'string', default: 'containerd' },
    rounds: { type: 'string', default: '5' },
    scale: { type: 'string', default: '1' },
    memory: { type: 'string', default: '100000' },
    quick: { type: 'boolean', default: false },
  },
});
const isReal = values.runtime === 'containerd';
const rounds = values.quick ? 1 : Number(values.rounds);
const scale = values.quick ? 0.05 : Number(values.scale);
const memoryCalls = values.quick ? 1000 : Number(values.memory);

interface Method {
  readonly name: string;
  readonly message: Buffer;
  readonly calls: number;
}

const version: Method = { name: 'Version', message: Buffer.from([0x0a, 2, 0x76, 0x31]), calls: 2000 };
const methods: readonly Method[] = [
  version,
  { name: 'ListContainers', message: Buffer.alloc(0), calls: 600 },
  ...(isReal ? [] : [{ name: 'CreateContainer', message: Buffer.alloc(4300, 1), calls: 1000 }]),
];

async function run(
  caller: Caller,
  { name, message }: Method,
  inFlight: number,
  calls: number,
): Promise<{ times: number[]; ms: number }> {
  const times: number[] = [];
  let left = calls;
  const begin = performance.now();
  const worker = async (): Promise<void> => {
    while (left-- > 0) {
      const from = performance.now();
      await caller.call(name, message);
      times.push(performance.now() - from);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return { times, ms: performance.now() - begin };
}

/** The sockets of the runtime and of our proxy, and our process. */
interface Scene {
  readonly direct: string;
  readonly ours: string;
  readonly pid: number;
  /** Milliseconds of creations, through us and directly; only on a real runtime. */
  readonly timeCreations?: (count: number) => Promise<{ readonly ours: number[]; readonly direct: number[] }>;
  close(): Promise<void>;
}

async function start(children: ChildProcess[], script: string, ...args: string[]): Promise<ChildProcess> {
  const child = fork(join(__dirname, `${script}.js`), args);
  children.push(child);
  await once(child, 'message');
  return child;
}

async function openPath(children: ChildProcess[], folder: string): Promise<Scene> {
  const [direct, ours] = [join(folder, 'r'), join(folder, 'f')];
  await start(children, 'proxy-runtime', values.runtime, direct);
  const { pid = 0 } = await start(children, 'proxy-relay', 'frames', ours, direct);
  return { direct, ours, pid, close: () => Promise.resolve() };
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'cpusetd-b-'));
  const children: ChildProcess[] = [];
  const scene: Scene = isReal ? await openNode() : await openPath(children, folder);
  try {
    await start(children, 'proxy-relay', 'bytes', join(folder, 'b'), scene.direct);
    await start(children, 'proxy-relay', 'streams', join(folder, 's'), scene.direct);
    const open = values.client === 'grpc-js' ? openGrpcJs : openFrames;
    const targets = {
      direct: await open(scene.direct),
      ours: await open(scene.ours),
      bytes: await open(join(folder, 'b')),
      streams: await open(join(folder, 's')),
    };
    const load = loadavg()[0]!.toFixed(1);
    console.log(`client ${values.client}, runtime ${values.runtime}, node ${process.version}, load ${load}`);
    for (const method of methods) for (const inFlight of [1, 8, 32]) await compare(targets, method, inFlight);
    if (scene.timeCreations) {
      const { ours, direct } = await scene.timeCreations(values.quick ? 5 : 100);
      print('CreateContainer', 1, { direct: { times: direct, rates: [] }, ours: { times: ours, rates: [] } });
    }
    await measureMemory(scene.pid, targets.ours);
    for (const target of Object.values(targets)) target.close();
  } finally {
    for (const child of children) child.kill();
    await scene.close();
    rmSync(folder, { recursive: true });
  }
}

interface Figures {
  readonly times: number[];
  readonly rates: number[];
}

async function compare(targets: Readonly<Record<string, Caller>>, method: Method, inFlight: number): Promise<void> {
  const calls = Math.max(32, Math.round(method.calls * scale)) * (inFlight === 1 ? 1 : 3);
  const all: Record<string, Figures> = {};
  for (let round = -1; round < rounds; round++) {
    for (const [name, caller] of Object.entries(targets)) {
      const { times, ms } = await run(caller, method, inFlight, round < 0 ? Math.ceil(calls / 2) : calls);
      if (round < 0) continue; // warming up
      const figures = (all[name] ??= { times: [], rates: [] });
      for (const time of times) figures.times.push(time);
      figures.rates.push((calls / ms) * 1000);
    }
  }
  print(method.name, inFlight, all);
}

function print(method: string, inFlight: number, all: Readonly<Record<string, Figures>>): void {
  const rateOf = ({ rates }: Figures): number => median(rates);
  const base = all['direct']!.times;
  for (const [name, figures] of Object.entries(all)) {
    const { times } = figures;
    const show = (part: number): string => {
      const added = percentile(times, part) - percentile(base, part);
      return `${percentile(times, part).toFixed(3)} ms (+${added.toFixed(3).padStart(7)})`;
    };
    const rate = rateOf(figures);
    const share = (rate / rateOf(all['direct']!)).toFixed(2);
    console.log(
      `${method.padEnd(16)} ${String(inFlight).padStart(2)} in flight  ${name.padEnd(8)} p50 ${show(0.5)}  p99 ${show(0.99)}` +
        (figures.rates.length > 0 ? `  ${String(Math.round(rate)).padStart(6)} calls/s (${share} of direct)` : ''),
    );
  }
}

async function measureMemory(pid: number, caller: Caller): Promise<void> {
  const readRss = (): string => `${residentMiB(pid).toFixed(0)} MiB`;
  const before = readRss();
  await run(caller, version, 32, memoryCalls);
  console.log(`memory of the proxy process: ${before}, after ${memoryCalls} more calls ${readRss()}`);
}

void main();
