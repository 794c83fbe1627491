import {
  allocate,
  listByKind,
  splitFromSlowest,
  type AllocationRequest,
  type AllocationResult,
} from '../../core/allocation';
import { CpuListError, CpuSet, parseCpuList } from '../../core/cpuset';
import type { StaticPolicyOptions } from '../../core/model/settings';
import { largestCore, type Topology } from '../../core/topology';
import { parseBatchLine, type AssignmentLine, type BatchLine, type SequenceLine } from './schema';

/** `answered` is false for a line that can't be read; a refused allocation is an answer. */
export interface LineAnswer {
  readonly answered: boolean;
  readonly answer: object;
}

type StepAnswer = { readonly because?: string } & (
  { readonly result: string } | { readonly error: string } | { readonly freed: string }
);

/** The machines that lines may name, and the defaults for fields that a line leaves out. */
export interface BatchDefaults {
  readonly topologies: ReadonlyMap<string, Topology>;
  /** The machine of lines that name none. */
  readonly topology?: Topology;
  readonly options: StaticPolicyOptions;
  /** CPUs that are never given out. */
  readonly reserved: CpuSet;
}

/** Answers one JSON line about one of the machines. Pure. `lineNumber` names a line that has no id. */
export function answerLine(text: string, lineNumber: number, defaults: BatchDefaults): LineAnswer {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { answered: false, answer: { line: lineNumber, error: 'not a line of JSON' } };
  }
  const parsed = parseBatchLine(value);
  if (!parsed.ok) return fail(value, lineNumber, parsed.error);
  const { line } = parsed;
  const topology = line.topology === undefined ? defaults.topology : defaults.topologies.get(line.topology);
  if (!topology) {
    const why = line.topology === undefined ? 'the line names no machine' : `no machine is called ${line.topology}`;
    return fail(value, lineNumber, `topology: ${why}; describe it in --topologies, or give --topology`);
  }
  try {
    return 'steps' in line ? answerSequence(line, topology, defaults) : answerAssignment(line, topology, defaults);
  } catch (error) {
    if (error instanceof CpuListError) return fail(value, lineNumber, `available: ${error.message}`);
    throw error;
  }
}

function fail(value: unknown, lineNumber: number, error: string): LineAnswer {
  const id: unknown = typeof value === 'object' && value !== null && 'id' in value ? value.id : undefined;
  const name = typeof id === 'string' || typeof id === 'number' ? { id } : { line: lineNumber };
  return { answered: false, answer: { ...name, error } };
}

function answerAssignment(line: AssignmentLine, topology: Topology, defaults: BatchDefaults): LineAnswer {
  const all = line.available === undefined ? topology.online : parseCpuList(line.available);
  const result = allocate(requestOf(line, topology, all.minus(defaults.reserved), line.numCPUs, defaults));
  return {
    answered: true,
    answer: { id: line.id, ...(result.ok ? { result: result.cpus } : { error: result.error }), ...reasonOf(result) },
  };
}

/** The steps of the allocation, in order. */
function reasonOf({ steps }: AllocationResult): { readonly because?: string } {
  return steps.length === 0 ? {} : { because: steps.map(({ because }) => because).join('; ') };
}

function answerSequence(line: SequenceLine, topology: Topology, defaults: BatchDefaults): LineAnswer {
  const { id } = line;
  let free = topology.online.minus(defaults.reserved);
  let reserved = CpuSet.empty;
  for (const part of splitFromSlowest(topology, free, line.numReserved)) {
    const taken = allocate(requestOf(line, topology, part.available, part.count, defaults));
    if (!taken.ok) return { answered: true, answer: { id, error: `numReserved: ${taken.error}` } };
    reserved = reserved.union(taken.cpus);
  }
  free = free.minus(reserved);
  const held = new Map<string, CpuSet>();
  let answered = true;
  const misuse = (error: string): StepAnswer => {
    answered = false;
    return { error };
  };
  const steps = line.steps.map((step): StepAnswer => {
    const holds = held.get(step.name);
    if (step.op === 'free') {
      if (!holds) return misuse(`${step.name} holds no CPUs`);
      held.delete(step.name);
      free = free.union(holds);
      return { freed: holds.toString() };
    }
    if (holds) return misuse(`${step.name} holds CPUs already; free them first`);
    const result = allocate(requestOf(line, topology, free, step.numCPUs, defaults));
    if (!result.ok) return { error: result.error, ...reasonOf(result) };
    held.set(step.name, result.cpus);
    free = free.minus(result.cpus);
    return { result: result.cpus.toString(), ...reasonOf(result) };
  });
  return { answered, answer: { id, reserved, steps } };
}

/** The request that the policy would make: CPUs are of one kind of cores where one has enough. */
function requestOf(
  line: BatchLine,
  topology: Topology,
  available: CpuSet,
  count: number,
  { options }: BatchDefaults,
): AllocationRequest {
  const [ofOneKind = available] = listByKind(topology, available, count);
  return {
    topology,
    available: ofOneKind,
    count,
    algorithm: line.algorithm ?? (options.distributeCpusAcrossNuma ? 'distributed' : 'packed'),
    strategy: line.strategy ?? (options.distributeCpusAcrossCores ? 'spread' : 'packed'),
    preferAlignByUncoreCache: line.preferAlignByUncoreCache ?? options.preferAlignCpusByUncorecache,
    cpuGroupSize: line.cpuGroupSize ?? (options.fullPcpusOnly ? largestCore(topology, ofOneKind) : 1),
    alignBySocket: options.alignBySocket,
  };
}
