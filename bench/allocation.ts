// Measures one allocation beside the kubelet's routine in Go, on the cases of test/fixtures/vectors/bench.jsonl.
// Run from the project's root: node bench/run.mjs allocation [repeats]. Median per case; each answer is checked as well.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { allocate, type AllocationRequest } from '../src/core/allocation';
import { CpuSet, parseCpuList } from '../src/core/cpuset';
import { buildTopology, type Topology } from '../src/core/topology';
import { findSavedUnits } from '../test/conformance/vectors';
import { percentile } from '../test/support/percentile';
import { median } from './nri/figures';

const REPEATS = Number(process.argv[2] ?? 300);
const WARM_UP = 100;
const FIXTURES = join(process.cwd(), 'test/fixtures/vectors');

/** Kubelet 1.36 in Go, µs, all CPUs free, on two cores of an x86 server. */
const KUBELET_US: Readonly<Record<string, Readonly<Record<number, number>>>> = {
  '384 packed': { 2: 10_600, 16: 11_900, 64: 14_300 },
  '384 uncore': { 2: 1_290, 16: 2_790, 64: 3_100 },
  '384 spread': { 2: 610, 16: 1_950, 64: 7_060 },
  '384 distributed': { 2: 3_500, 16: 5_200, 64: 4_800 },
  '1024 packed': { 2: 78_200, 16: 107_000, 64: 90_200 },
  '1024 uncore': { 2: 8_500, 16: 21_300, 64: 17_000 },
  '1024 spread': { 2: 5_000, 16: 13_400, 64: 26_300 },
  '1024 distributed': { 2: 5_700, 16: 9_100, 64: 6_800 },
};

interface Case {
  readonly id: string;
  readonly topology: string;
  readonly available: string;
  readonly numCPUs: number;
  readonly algorithm: AllocationRequest['algorithm'];
  readonly strategy: AllocationRequest['strategy'];
  readonly preferAlignByUncoreCache?: boolean;
  readonly cpuGroupSize?: number;
  readonly result?: string;
  readonly error?: string;
}

interface Machine {
  readonly name: string;
  readonly cpus: readonly (readonly [number, number, number, number, number])[];
}

function readLines(name: string): unknown[] {
  const lines = readFileSync(join(FIXTURES, name), 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as unknown);
}

function loadMachines(): Map<string, Topology> {
  const machines = readLines('topologies.jsonl') as Machine[];
  return new Map(
    machines.map(({ name, cpus }) => [
      name,
      buildTopology({
        cpus: cpus.map(([id, core, socket, numaNode, uncoreCache]) => ({ id, core, socket, numaNode, uncoreCache })),
      }),
    ]),
  );
}

function requestOf(each: Case, machines: ReadonlyMap<string, Topology>): AllocationRequest {
  return {
    topology: machines.get(each.topology)!,
    available: parseCpuList(each.available),
    count: each.numCPUs,
    algorithm: each.algorithm,
    strategy: each.strategy,
    preferAlignByUncoreCache: each.preferAlignByUncoreCache ?? false,
    cpuGroupSize: each.cpuGroupSize ?? 1,
  };
}

function algorithmOf({ algorithm, strategy, preferAlignByUncoreCache }: Case): string {
  if (algorithm === 'distributed') return 'distributed';
  if (strategy === 'spread') return 'spread';
  return preferAlignByUncoreCache === true ? 'uncore' : 'packed';
}

function medianNs(request: AllocationRequest): number {
  for (let i = 0; i < WARM_UP; i++) allocate(request);
  const times: number[] = [];
  for (let i = 0; i < REPEATS; i++) {
    const start = process.hrtime.bigint();
    allocate(request);
    times.push(Number(process.hrtime.bigint() - start));
  }
  return median(times);
}

const machines = loadMachines();
const rows = (readLines('bench.jsonl') as Case[]).map((each) => {
  const request = requestOf(each, machines);
  const result = allocate(request);
  const saves =
    result.ok && each.result !== undefined && findSavedUnits(request, parseCpuList(each.result), result.cpus);
  if (!saves && (result.ok ? result.cpus.toString() : result.error) !== (each.error ?? each.result)) {
    throw new Error(`${each.id}: another answer than expected`);
  }
  const [, cpus, fill] = each.id.split('-');
  const algorithm = algorithmOf(each);
  const ns = medianNs(request);
  const kubeletUs = fill === 'free' ? KUBELET_US[`${cpus!} ${algorithm}`]?.[each.numCPUs] : undefined;
  return {
    CPUs: Number(cpus),
    state: fill,
    algorithm: each.cpuGroupSize === undefined ? algorithm : `${algorithm}, groups of ${each.cpuGroupSize}`,
    n: each.numCPUs,
    µs: Number((ns / 1000).toFixed(1)),
    'kubelet µs': kubeletUs ?? '',
    'times faster': kubeletUs === undefined ? '' : Math.round((kubeletUs * 1000) / ns),
  };
});
console.table(rows);

/** Sixteen NUMA nodes of 64 CPUs, each used to another degree: the distributed search at its hardest. */
function wornMachine(seed: number): { topology: Topology; available: CpuSet } {
  const cpus = Array.from({ length: 1024 }, (_, id) => {
    const numaNode = Math.floor(id / 64);
    return { id, core: id >> 1, socket: Math.floor(numaNode / 8), numaNode, uncoreCache: numaNode };
  });
  const freeIn = Array.from(
    { length: 16 },
    (_, node) => 1 + ((Math.imul(seed * 16 + node + 1, 2_654_435_761) >>> 16) % 64),
  );
  const available = CpuSet.of(cpus.flatMap(({ id, numaNode }) => (id % 64 < freeIn[numaNode]! ? [id] : [])));
  return { topology: buildTopology({ cpus }), available };
}

const worn: { us: number; ended: boolean }[] = [];
for (let seed = 0; seed < 100; seed++) {
  const { topology, available } = wornMachine(seed);
  for (const part of [0.1, 0.3, 0.5, 0.7, 0.9]) {
    const request: AllocationRequest = {
      topology,
      available,
      count: Math.max(1, Math.floor(available.size * part)),
      algorithm: 'distributed',
      strategy: 'packed',
      preferAlignByUncoreCache: false,
      cpuGroupSize: 1,
    };
    const cpuBefore = process.cpuUsage();
    const { steps } = allocate(request);
    const { user, system } = process.cpuUsage(cpuBefore);
    worn.push({ us: user + system, ended: steps.some(({ because }) => because.includes('ended by its bound')) });
  }
}
const wornUs = worn.map(({ us }) => us);
const at = (share: number): number => percentile(wornUs, share);
console.log(
  `distributed on 16 worn NUMA nodes, ${worn.length} requests, µs of CPU time: ` +
    `median ${at(0.5)}, p99 ${at(0.99)}, most ${at(1)}; ended by the bound: ${worn.filter(({ ended }) => ended).length}`,
);
