import { estimateNeed, type EstimateOptions } from './estimate';
import { lendable, type Lendable } from './lendable';
import { predictedNeed, type TimeSeriesPrediction } from './prediction';
import { reservedShareOf, type ReservedShares } from './reserved';
import type { UseHistory } from './use-history';

/** Everything that decides what the node lends now, beside the history. */
export interface LendingFacts {
  readonly allocatable: { readonly milliCpu?: number; readonly memoryBytes?: number };
  readonly annotations: Readonly<Record<string, string>>;
  /** The names and addresses of the node that a prediction may be about. */
  readonly names: readonly string[];
  readonly prediction: TimeSeriesPrediction | undefined;
  readonly exclusiveCpus: number;
  /** Absent = not known before the runtime's first answer. */
  readonly sharedPoolCpus?: number;
  /** cpusetd runs for a short time only: what an earlier process published stays until there is a measurement. */
  readonly isYoung: boolean;
  readonly nowMs: number;
}

export interface LendingOptions extends EstimateOptions {
  readonly reserved: ReservedShares;
  readonly lendExclusiveIdle: boolean;
}

/** Decides what can be lent, from what was measured and predicted. */
export function decideLendable(history: UseHistory, facts: LendingFacts, options: LendingOptions): Lendable {
  const { allocatable, annotations, names, prediction, exclusiveCpus, sharedPoolCpus, isYoung, nowMs } = facts;
  const { pool, memory, latestCpu } = history;
  const predicted = predictedNeed(prediction, names, nowMs);
  const decidesCpu = !isYoung || (pool.length > 0 && sharedPoolCpus !== undefined);
  const decidesMemory = !isYoung || memory.length > 0;
  const idle = latestCpu?.exclusiveIdleMilli;
  return lendable({
    ...(allocatable.milliCpu !== undefined &&
      decidesCpu && {
        cpu: {
          allocatableMilli: allocatable.milliCpu,
          reserved: reservedShareOf('cpu', options.reserved, annotations),
          ...(predicted.milliCpu !== undefined && { predictedMilli: predicted.milliCpu }),
          poolUse: estimateNeed(pool, options, nowMs),
          exclusiveCpus,
          ...(sharedPoolCpus !== undefined && { sharedPoolCpus }),
          ...(idle !== undefined && { exclusiveIdleMilli: idle }),
          lendExclusiveIdle: options.lendExclusiveIdle,
        },
      }),
    ...(allocatable.memoryBytes !== undefined &&
      decidesMemory && {
        memory: {
          allocatableBytes: allocatable.memoryBytes,
          reserved: reservedShareOf('memory', options.reserved, annotations),
          ...(predicted.memoryBytes !== undefined && { predictedBytes: predicted.memoryBytes }),
          use: estimateNeed(memory, options, nowMs),
        },
      }),
  });
}
