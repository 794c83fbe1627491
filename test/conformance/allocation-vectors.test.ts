import { CpuSet, parseCpuList } from '../../src/core/cpuset';
import type { Topology } from '../../src/core/topology';
import {
  findSavedUnits,
  loadMachines,
  readVectors,
  show,
  showWanted,
  takeBy,
  type Sequence,
  type Vector,
} from './vectors';

const machines = loadMachines();
const singles = readVectors<Vector>('assignment.jsonl');
const real = readVectors<Vector>('real-assignment.jsonl');
const variants = readVectors<Vector>('assignment-variants.jsonl');
const sequences = readVectors<Sequence>('sequence.jsonl');

test('all machines and allocations of the files are asked', () => {
  const counts = { machines: machines.size, singles: singles.length, real: real.length, variants: variants.length, sequences: sequences.length }; // prettier-ignore
  expect(counts).toEqual({ machines: 27 + 72, singles: 4_250, real: 8_979, variants: 95, sequences: 42 });
  const unknown = [...singles, ...real, ...variants, ...sequences].filter(({ topology }) => !machines.has(topology));
  expect(unknown).toEqual([]);
  expect(new Set(real.map(({ topology }) => topology)).size).toBe(72);
});

/** A fault of the kubelet's routine on irregular machines, where it compares sums. */
type Flaw = keyof typeof FLAWS;

const FLAWS = {
  'threads offline':
    'on cores that lack a thread a socket counts as whole when its free CPUs are the mean, and busy CPUs are given out',
  'cores offline':
    'on sockets that lack a core a socket counts as whole when its free CPUs are the mean, and busy CPUs are given out',
  'nodes unequal':
    'the number of NUMA nodes begins at what nodes of mean size need: two that give equal shares are passed over, and CPUs are packed',
  'cache in two nodes': 'a cache in two NUMA nodes is taken twice, and too few CPUs come out',
};

/** Vectors with a wrong answer of the kubelet: the fault, and the answer of cpusetd. */
const DIFFERENT: Readonly<Record<string, readonly [flaw: Flaw, here: string]>> = {
  p02966: ['threads offline', '0-4,6-7,10,16-17,19-20,22-23'],
  p02978: ['threads offline', '0-2,8,10-12,15-17,19,24-26,28'],
  p03019: ['threads offline', '0-3,12-17,19,28-30'],
  p03024: ['threads offline', '0-4,8,10,12-17,19-21,24-26,28-30'],
  p03093: ['threads offline', '1-4,6-7,10-11,17,19-23,25-26'],
  p03131: ['cores offline', '0-2,4-8,16-18,20-22'],
  p03132: ['cores offline', '0-2,4-9,16-18,20-22'],
  p03322: ['nodes unequal', '4-10,12,14,22-30,36-42,46,54-61'],
  p03451: ['cache in two nodes', '1-2,4-9'],
  p03452: ['cache in two nodes', '0-1,4-9'],
  p03453: ['cache in two nodes', '0-2,4-9'],
};

function wantedOf(vector: Vector): string {
  return showWanted(vector.variants?.fixed ?? vector.fixed ?? vector);
}

function answer(vector: Vector) {
  return takeBy(vector, machines.get(vector.topology)!, parseCpuList(vector.available), vector.numCPUs);
}

describe.each([...machines.keys()])('on %s', (name) => {
  test.each([
    ['single allocations', [...singles, ...real]],
    ['allocations that depend on a fault of the kubelet', variants],
  ])('%s have the results of the corrected routine', (_what, vectors) => {
    const wrong = vectors
      .filter((vector) => vector.topology === name && !(vector.id in DIFFERENT) && !savedBy(vector))
      .map((vector) => ({ id: vector.id, got: show(answer(vector)), want: wantedOf(vector) }))
      .filter(({ got, want }) => got !== want);
    expect(wrong).toEqual([]);
  });
});

function savedBy(vector: Vector) {
  const got = answer(vector);
  const { result } = vector.variants?.fixed ?? vector.fixed ?? vector;
  if (result === undefined || !got.ok) return undefined;
  return findSavedUnits({ ...vector, topology: machines.get(vector.topology)! }, parseCpuList(result), got.cpus);
}

test('where the routine of the kubelet is flawed on a real machine, the answer is that of the repaired one', () => {
  const flawed = real.filter(({ kubelet }) => kubelet !== undefined);
  expect(flawed).toHaveLength(153);
  // Of the others only the fault is recorded: busy CPUs, or another number of CPUs.
  const answered = flawed.filter(({ kubelet }) => !kubelet!.startsWith('flawed: '));
  expect(answered).toHaveLength(17);
  for (const vector of answered) {
    const { kubelet, available, numCPUs, result } = vector;
    const cpus = parseCpuList(kubelet!);
    expect([cpus.size, cpus.isSubsetOf(parseCpuList(available))]).toEqual([numCPUs, true]);
    expect(cpus.toString()).not.toBe(result);
  }
  const wrong = flawed.filter((vector) => !savedBy(vector) && show(answer(vector)) !== vector.result);
  expect(wrong).toEqual([]);
});

test('answers with fewer units than the kubelet has are known by their number', () => {
  const countSaved = (vectors: readonly Vector[], units: ReturnType<typeof savedBy>): number =>
    vectors.filter((vector) => !(vector.id in DIFFERENT) && savedBy(vector) === units).length;
  expect(countSaved(singles, 'uncore caches')).toBe(156);
  expect(countSaved(singles, 'NUMA nodes')).toBe(6);
  expect(countSaved(real, 'uncore caches')).toBe(85);
  expect(countSaved(real, 'NUMA nodes')).toBe(7);
});

/** Checks that the machine and the kubelet's answer show the fault. */
const SHOWS_FLAW: Readonly<Record<Flaw, (topology: Topology, vector: Vector) => boolean>> = {
  'threads offline': ({ cores }, vector) => sizesOf(cores).size > 1 && givesOutBusy(vector),
  'cores offline': ({ cores, sockets }, vector) =>
    sizesOf(cores).size === 1 && sizesOf(sockets).size > 1 && givesOutBusy(vector),
  'nodes unequal': ({ numaNodes }, { algorithm, result }) =>
    algorithm === 'distributed' &&
    sizesOf(numaNodes).size > 1 &&
    sizesOf(
      numaNodes
        .map(({ cpus }) => ({ cpus: cpus.intersect(parseCpuList(result!)) }))
        .filter(({ cpus }) => !cpus.isEmpty),
    ).size > 1,
  'cache in two nodes': ({ uncoreCaches, numaNodes }, { result, numCPUs }) =>
    uncoreCaches.some((cache) => numaNodes.filter((node) => node.cpus.overlaps(cache.cpus)).length > 1) &&
    parseCpuList(result!).size < numCPUs,
};

const sizesOf = (groups: readonly { readonly cpus: CpuSet }[]): Set<number> =>
  new Set(groups.map(({ cpus }) => cpus.size));

function givesOutBusy({ result, available, numCPUs }: Vector): boolean {
  const cpus = parseCpuList(result!);
  return cpus.size === numCPUs && !cpus.isSubsetOf(parseCpuList(available));
}

const differing = Object.entries(DIFFERENT).map(([id, [flaw, here]]) => [id, FLAWS[flaw], flaw, here] as const);

test.each(differing)('%s differs from the kubelet: %s', (id, _what, flaw, here) => {
  const vector = singles.find((single) => single.id === id)!;
  expect(SHOWS_FLAW[flaw](machines.get(vector.topology)!, vector)).toBe(true);
  const got = answer(vector);
  expect(show(got)).toBe(here);
  expect(got.ok && got.cpus.size === vector.numCPUs && got.cpus.isSubsetOf(parseCpuList(vector.available))).toBe(true);
});

test('each allocation takes only available CPUs, and as many as requested', () => {
  const wrong = [...singles, ...real, ...variants].filter((vector) => {
    const got = answer(vector);
    return got.ok && !(got.cpus.size === vector.numCPUs && got.cpus.isSubsetOf(parseCpuList(vector.available)));
  });
  expect(wrong).toEqual([]);
});

test('the steps of an allocation name each of its CPUs once', () => {
  for (const vector of [...singles, ...real]) {
    const got = answer(vector);
    if (!got.ok) continue;
    const { cpus, steps } = got;
    expect(CpuSet.unionOf(steps.map(({ took }) => took)).toString()).toBe(cpus.toString());
    expect(steps.reduce((sum, { took }) => sum + took.size, 0)).toBe(cpus.size);
  }
});

test.each(sequences.map((sequence) => [sequence.id, sequence] as const))('sequence %s', (_id, sequence) => {
  const topology = machines.get(sequence.topology)!;
  const reserved = takeBy(sequence, topology, topology.online, sequence.numReserved);
  expect(show(reserved)).toBe(sequence.reserved);
  let free = topology.online.minus(parseCpuList(sequence.reserved));
  const held = new Map<string, CpuSet>();
  for (const step of sequence.steps) {
    if (step.op === 'free') {
      const cpus = held.get(step.name)!;
      expect(cpus.toString()).toBe(step.freed);
      held.delete(step.name);
      free = free.union(cpus);
    } else {
      const got = takeBy(sequence, topology, free, step.numCPUs!);
      const kubelet = parseCpuList(step.result ?? '');
      if (!got.ok || !findSavedUnits({ ...sequence, topology }, kubelet, got.cpus))
        expect(show(got)).toBe(showWanted(step));
      held.set(step.name, kubelet); // so that the next steps begin where the kubelet's do
      free = free.minus(kubelet);
    }
    if (step.available !== undefined) expect(free.toString()).toBe(step.available);
  }
  expect(free.toString()).toBe(sequence.finalAvailable);
});
