import { CpuSet, parseCpuList } from '../../src/core/cpuset';
import { loadMachines, readVectors, show, showWanted, takeBy, type Sequence, type Vector } from './vectors';

const machines = loadMachines();
const singles = readVectors<Vector>('assignment.jsonl');
const variants = readVectors<Vector>('assignment-variants.jsonl');
const sequences = readVectors<Sequence>('sequence.jsonl');

/** Where the kubelet's answer is a flaw, and why: its routine divides totals, which is wrong on machines like these. */
const DIFFERENT: Readonly<Record<string, string>> = {
  p02966: 'threads offline: a socket counts as whole when its free CPUs are the mean, and gives out busy CPUs',
  p02978: 'threads offline: a socket counts as whole when its free CPUs are the mean, and gives out busy CPUs',
  p03019: 'threads offline: a socket counts as whole when its free CPUs are the mean, and gives out busy CPUs',
  p03024: 'threads offline: a socket counts as whole when its free CPUs are the mean, and gives out busy CPUs',
  p03093: 'threads offline: a socket counts as whole when its free CPUs are the mean, and gives out busy CPUs',
  p03131: 'cores offline: a socket counts as whole when its free CPUs are the mean, and gives out busy CPUs',
  p03132: 'cores offline: a socket counts as whole when its free CPUs are the mean, and gives out busy CPUs',
  p03451: 'a cache in two NUMA nodes is taken twice, and too few CPUs come out',
  p03452: 'a cache in two NUMA nodes is taken twice, and too few CPUs come out',
  p03453: 'a cache in two NUMA nodes is taken twice, and too few CPUs come out',
};

function wantedOf(vector: Vector): string {
  return showWanted(vector.variants?.fixed ?? vector.fixed ?? vector);
}

function answer(vector: Vector) {
  return takeBy(vector, machines.get(vector.topology)!, parseCpuList(vector.available), vector.numCPUs);
}

describe.each([...machines.keys()])('on %s', (name) => {
  test.each([
    ['single allocations', singles],
    ['allocations that a flaw of the kubelet decides', variants],
  ])('%s are as the corrected routine has them', (_what, vectors) => {
    const wrong = vectors
      .filter((vector) => vector.topology === name && !(vector.id in DIFFERENT))
      .map((vector) => ({ id: vector.id, got: show(answer(vector)), want: wantedOf(vector) }))
      .filter(({ got, want }) => got !== want);
    expect(wrong).toEqual([]);
  });
});

test.each(Object.entries(DIFFERENT))('%s differs: %s', (id) => {
  const vector = singles.find((single) => single.id === id)!;
  const got = answer(vector);
  if (!got.ok) throw new Error(got.error);
  expect(vector.outside ?? vector.short).toBe(true);
  expect(got.cpus.toString()).not.toBe(wantedOf(vector));
  expect(got.cpus.size).toBe(vector.numCPUs);
  expect(got.cpus.isSubsetOf(parseCpuList(vector.available))).toBe(true);
});

test('every CPU that is given out was available, and as many as were asked for', () => {
  const wrong = [...singles, ...variants].filter((vector) => {
    const got = answer(vector);
    return got.ok && !(got.cpus.size === vector.numCPUs && got.cpus.isSubsetOf(parseCpuList(vector.available)));
  });
  expect(wrong).toEqual([]);
});

test('the steps of an allocation name its CPUs, each once', () => {
  for (const vector of singles) {
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
      expect(show(got)).toBe(showWanted(step));
      if (got.ok) {
        held.set(step.name, got.cpus);
        free = free.minus(got.cpus);
      }
    }
    if (step.available !== undefined) expect(free.toString()).toBe(step.available);
  }
  expect(free.toString()).toBe(sequence.finalAvailable);
});
