// Measures one decision of the static policy beside the kubelet's (1.37, its own code in a process of kubelet-oracle),
// on the cases of test/fixtures/vectors/bench.jsonl.
//
// Method: each case is decided many times here, then many times by the kubelet's Allocate, which has its own clock;
// medians. On both sides the state is made before the clock starts, and the pod, its policy and its options are the
// same. Each answer is checked against the recorded one. Compare ratios.
//
// Run from the project's root: node bench/run.mjs allocation [repeats]. It needs Go and a module proxy.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { allocate, type AllocationRequest } from '../src/core/allocation';
import { CpuSet, parseCpuList } from '../src/core/cpuset';
import { buildTopology, type Topology } from '../src/core/topology';
import { parseStaticPolicyOptions } from '../src/core/options/static-policy-options';
import { POLICIES } from '../src/core/policy';
import { type CpuRow, machineOf } from '../test/conformance/scenarios/scenario';
import { findSavedUnits } from '../test/conformance/vectors';
import { bareSnapshot } from '../test/core/policy/bare-snapshot';
import { percentile } from '../test/support/percentile';
import { KubeletClock } from './kubelet/kubelet-clock';
import { median } from './nri/figures';

const REPEATS = Number(process.argv[2] ?? 300);
const WARM_UP = 100;
const FIXTURES = join(process.cwd(), 'test/fixtures/vectors');

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
  readonly cpus: readonly CpuRow[];
}

function readLines(name: string): unknown[] {
  const lines = readFileSync(join(FIXTURES, name), 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as unknown);
}

function loadMachines(): Map<string, { topology: Topology; cpus: Machine['cpus'] }> {
  const machines = readLines('topologies.jsonl') as Machine[];
  return new Map(machines.map(({ name, cpus }) => [name, { cpus, topology: machineOf(cpus) }]));
}

function requestOf(each: Case, topology: Topology): AllocationRequest {
  return {
    topology,
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

function medianNs(decide: () => unknown): number {
  for (let i = 0; i < WARM_UP; i++) decide();
  const times: number[] = [];
  for (let i = 0; i < REPEATS; i++) {
    const start = process.hrtime.bigint();
    decide();
    times.push(Number(process.hrtime.bigint() - start));
  }
  return median(times);
}

/** The options of the static policy that lead to the case's routine, by the kubelet's names. */
function optionsOf({ algorithm, strategy, preferAlignByUncoreCache, cpuGroupSize = 1 }: Case): Record<string, string> {
  const on = [
    ...(algorithm === 'distributed' ? ['distribute-cpus-across-numa'] : []),
    ...(strategy === 'spread' ? ['distribute-cpus-across-cores'] : []),
    ...(preferAlignByUncoreCache === true ? ['prefer-align-cpus-by-uncorecache'] : []),
    ...(cpuGroupSize > 1 ? ['full-pcpus-only'] : []),
  ];
  return Object.fromEntries(on.map((name) => [name, 'true']));
}

function checkAnswer(each: Case, request: AllocationRequest): void {
  const result = allocate(request);
  const saves =
    result.ok && each.result !== undefined && findSavedUnits(request, parseCpuList(each.result), result.cpus);
  if (!saves && (result.ok ? result.cpus.toString() : result.error) !== (each.error ?? each.result))
    throw new Error(`${each.id}: another answer than expected`);
}

async function compareCase(kubelet: KubeletClock, each: Case, machine: { topology: Topology; cpus: Machine['cpus'] }) {
  const request = requestOf(each, machine.topology);
  checkAnswer(each, request);
  const options = optionsOf(each);
  const parsed = parseStaticPolicyOptions(new Map(Object.entries(options)));
  if (!parsed.ok) throw new Error(parsed.problem.because);
  const snapshot = bareSnapshot(machine.topology, { settings: { options: parsed.options }, free: request.available });
  const wanted = { count: request.count, podCount: request.count, memoryBytes: 0 };
  const ns = medianNs(() => POLICIES.static(snapshot, wanted));
  const routineNs = medianNs(() => allocate(request));

  const { available, numCPUs: count } = each;
  const kubeletNs = await kubelet.medianNs({ cpus: machine.cpus, options, available, count });
  const [, cpus, fill] = each.id.split('-');
  const algorithm = algorithmOf(each);
  return {
    CPUs: Number(cpus),
    state: fill,
    algorithm: each.cpuGroupSize === undefined ? algorithm : `${algorithm}, groups of ${each.cpuGroupSize}`,
    n: count,
    µs: Number((ns / 1000).toFixed(1)),
    'of it the routine': Number((routineNs / 1000).toFixed(1)),
    'kubelet µs': kubeletNs === undefined ? 'refused' : Math.round(kubeletNs / 1000),
    'times faster': kubeletNs === undefined ? '' : Math.round(kubeletNs / ns),
  };
}

async function compareAll(): Promise<void> {
  const kubelet = KubeletClock.start();
  const machines = loadMachines();
  const rows = [];
  for (const each of readLines('bench.jsonl') as Case[])
    rows.push(await compareCase(kubelet, each, machines.get(each.topology)!));
  await kubelet.stop();
  console.table(rows);
}

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

async function main(): Promise<void> {
  await compareAll();
  searchWornMachines();
}

function searchWornMachines(): void {
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
}

void main();
