import type { Estimate } from './estimate';
import type { ReservedShare } from './reserved';

/** Everything that decides how much the node lends. A resource without its part here is not decided. */
export interface LendableInput {
  readonly cpu?: {
    readonly allocatableMilli: number;
    readonly reserved: ReservedShare;
    /** Of the whole node, from the prediction; absent = there is none. */
    readonly predictedMilli?: number;
    /** Of the use in the shared pool that pods with `gocrane.io/cpu` did not make. */
    readonly poolUse: Estimate;
    /** As they are now. `sharedPoolCpus` absent = not known before the runtime's first answer. */
    readonly exclusiveCpus: number;
    readonly sharedPoolCpus?: number;
    /** Idle time of exclusive CPUs as it was measured; absent = not known. */
    readonly exclusiveIdleMilli?: number;
    /** The operator lends idle time of exclusive CPUs too. */
    readonly lendExclusiveIdle: boolean;
  };
  readonly memory?: {
    readonly allocatableBytes: number;
    readonly reserved: ReservedShare;
    readonly predictedBytes?: number;
    /** Of the use that pods with `gocrane.io/memory` did not make. */
    readonly use: Estimate;
  };
}

/** The source of what is needed: the prediction or the local estimate, whichever is more; `unknown` lends nothing. */
export type NeedSource = 'prediction' | 'local' | 'unknown';

/** Thousandths of a CPU. */
export interface CpuParts {
  readonly allocatable: number;
  readonly reserved: number;
  readonly needed: number;
  readonly from: NeedSource;
  /** The most that the shared pool can give. */
  readonly cap: number;
}

export interface MemoryParts {
  readonly allocatable: number;
  readonly reserved: number;
  readonly needed: number;
  readonly from: NeedSource;
}

export interface Lendable {
  readonly cpu?: Reasons & { readonly milliCpu: number; readonly parts: CpuParts };
  readonly memory?: Reasons & { readonly bytes: number; readonly parts: MemoryParts };
}

export interface Reasons {
  /** With the figures of this moment. */
  readonly because: string;
  /** The part of the reason that a measurement like the one before leaves as it was. */
  readonly lasting: string;
}

/**
 * Decides what can be lent to pods with `gocrane.io/cpu` and `gocrane.io/memory`. Whole numbers, rounded down; never
 * below 0.
 */
export function lendable({ cpu, memory }: LendableInput): Lendable {
  return { ...(cpu && { cpu: lendableCpu(cpu) }), ...(memory && { memory: lendableMemory(memory) }) };
}

function lendableCpu(input: NonNullable<LendableInput['cpu']>): NonNullable<Lendable['cpu']> {
  const { allocatableMilli: allocatable, poolUse, sharedPoolCpus, exclusiveCpus, lendExclusiveIdle } = input;
  const reserved = (allocatable * input.reserved.percent) / 100;
  const unknown = (why: string) => ({
    milliCpu: 0,
    because: `no CPU can be lent: the use of CPUs is not known, since ${why}`,
    lasting: poolUse.known ? 'no answer of the runtime' : 'no measurement',
    parts: { allocatable, reserved, needed: allocatable, from: 'unknown', cap: 0 } as const,
  });
  if (!poolUse.known) return unknown(poolUse.because);
  if (sharedPoolCpus === undefined) return unknown('the runtime has not sent its containers yet');

  const exclusive = 1000 * exclusiveCpus;
  const idle = lendExclusiveIdle ? Math.min(Math.max(input.exclusiveIdleMilli ?? 0, 0), exclusive) : 0;
  const local = poolUse.value + exclusive - idle;
  const { needed, from } = largerNeed(input.predictedMilli, local);
  const left = allocatable - reserved - needed;
  const cap = Math.max(0, 1000 * sharedPoolCpus - poolUse.newest + idle);
  const milliCpu = Math.floor(Math.max(0, Math.min(left, cap)));

  const source =
    from === 'prediction'
      ? 'by the prediction'
      : `${showCpus(poolUse.value)} in the shared pool and ${showCpus(exclusive - idle)} of exclusive CPUs`;
  const lasting = `${showCpus(allocatable)} allocatable, less ${showCpus(reserved)} reserved (${input.reserved.because})`;
  const sums = `${lasting}, less ${showCpus(needed)} needed (${source})`;
  const inPool = `the shared pool of ${sharedPoolCpus}, of which ${showCpus(poolUse.newest)} are in use`;
  const limit = left <= cap ? '' : `; not more than ${showCpus(cap)}, by ${inPool}`;
  const raised = idle > 0 ? `; ${showCpus(idle)} idle on exclusive CPUs are lent too` : '';
  return {
    milliCpu,
    because: `${showCpus(milliCpu)} CPUs can be lent: ${sums}${limit}${raised}`,
    lasting,
    parts: { allocatable, reserved, needed, from, cap },
  };
}

function lendableMemory(input: NonNullable<LendableInput['memory']>): NonNullable<Lendable['memory']> {
  const { allocatableBytes: allocatable, use } = input;
  const reserved = (allocatable * input.reserved.percent) / 100;
  if (!use.known)
    return {
      bytes: 0,
      because: `no memory can be lent: its use is not known, since ${use.because}`,
      lasting: 'no measurement',
      parts: { allocatable, reserved, needed: allocatable, from: 'unknown' },
    };
  const { needed, from } = largerNeed(input.predictedBytes, use.value);
  const bytes = Math.floor(Math.max(0, allocatable - reserved - needed));
  const source = from === 'prediction' ? 'by the prediction' : 'by the local estimate';
  const lasting = `${showBytes(allocatable)} allocatable, less ${showBytes(reserved)} reserved (${input.reserved.because})`;
  return {
    bytes,
    because: `${showBytes(bytes)} can be lent: ${lasting}, less ${showBytes(needed)} needed (${source})`,
    lasting,
    parts: { allocatable, reserved, needed, from },
  };
}

function largerNeed(predicted: number | undefined, local: number): { needed: number; from: 'prediction' | 'local' } {
  return predicted !== undefined && predicted > local
    ? { needed: predicted, from: 'prediction' }
    : { needed: local, from: 'local' };
}

/** Thousandths of a CPU as CPUs with up to two decimals: `1.5`. */
export function showCpus(milliCpu: number): string {
  return String(Number((milliCpu / 1000).toFixed(2)));
}

/** Bytes in GiB with up to two decimals: `1.5 GiB`. */
export function showBytes(bytes: number): string {
  return `${Number((bytes / 2 ** 30).toFixed(2))} GiB`;
}
