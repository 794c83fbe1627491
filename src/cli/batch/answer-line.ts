import { take, type TakeRequest } from '../../core/allocation';
import { CpuListError, CpuSet, parseCpuList } from '../../core/cpuset';
import type { Topology } from '../../core/topology';
import { explainFault, parseBatchLine, type AssignmentLine, type BatchLine, type SequenceLine } from './schema';

/** `answered` is false where the line could not be understood; a refused allocation is an answer. */
export interface LineAnswer {
  readonly answered: boolean;
  readonly answer: object;
}

type StepAnswer = { readonly result: string } | { readonly error: string } | { readonly freed: string };

/** Answers one JSON line about one of the machines. Pure. `lineNumber` names a line that has no id. */
export function answerLine(text: string, lineNumber: number, topologies: ReadonlyMap<string, Topology>): LineAnswer {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { answered: false, answer: { line: lineNumber, error: 'not a line of JSON' } };
  }
  const parsed = parseBatchLine(value);
  if (!parsed.success) return fail(value, lineNumber, explainFault(parsed.error));
  const line = parsed.data;
  const topology = topologies.get(line.topology);
  if (!topology) return fail(value, lineNumber, `topology: no machine is called ${line.topology} in --topologies`);
  try {
    return 'steps' in line ? answerSequence(line, topology) : answerAssignment(line, topology);
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

function answerAssignment(line: AssignmentLine, topology: Topology): LineAnswer {
  const result = take(requestOf(line, topology, parseCpuList(line.available), line.numCPUs));
  return {
    answered: true,
    answer: { id: line.id, ...(result.ok ? { result: result.cpus } : { error: result.error }) },
  };
}

function answerSequence(line: SequenceLine, topology: Topology): LineAnswer {
  const { id } = line;
  const reserved = take(requestOf(line, topology, topology.online, line.numReserved));
  if (!reserved.ok) return { answered: true, answer: { id, error: `numReserved: ${reserved.error}` } };

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
      return { freed: holds.toString() };
    }
    if (holds) return misuse(`${step.name} holds CPUs already; free them first`);
    const available = topology.online.minus(reserved.cpus).minus(CpuSet.unionOf(held.values()));
    const result = take(requestOf(line, topology, available, step.numCPUs));
    if (!result.ok) return { error: result.error };
    held.set(step.name, result.cpus);
    return { result: result.cpus.toString() };
  });
  return { answered, answer: { id, reserved: reserved.cpus, steps } };
}

function requestOf(
  { algorithm, strategy, preferAlignByUncoreCache, cpuGroupSize }: BatchLine,
  topology: Topology,
  available: CpuSet,
  count: number,
): TakeRequest {
  return { topology, available, count, algorithm, strategy, preferAlignByUncoreCache, cpuGroupSize };
}
