/** A TimeSeriesPrediction of the group prediction.crane.io, reduced to what decides. */
export interface TimeSeriesPrediction {
  /** Name of what it is about: an address of the node. */
  readonly target: string;
  readonly series: readonly PredictedSeries[];
}

export interface PredictedSeries {
  readonly resource: 'cpu' | 'memory';
  readonly samples: readonly PredictedSample[];
}

export interface PredictedSample {
  /** ms since 1970. */
  readonly atMs: number;
  /** CPUs, or bytes. */
  readonly value: number;
}

/** Absent = nothing is predicted; `because` says why, or from what. */
export interface PredictedNeed {
  readonly milliCpu?: number;
  readonly memoryBytes?: number;
  readonly because: string;
}

/** The largest need that is predicted from now on. An object that is about no address of this node predicts nothing. */
export function predictedNeed(
  prediction: TimeSeriesPrediction | undefined,
  addresses: readonly string[],
  nowMs: number,
): PredictedNeed {
  if (!prediction) return { because: 'there is no prediction' };
  if (!addresses.includes(prediction.target))
    return { because: `the prediction is about ${prediction.target || 'nothing'}, which is no address of this node` };
  const cpus = largestOf(prediction, 'cpu', nowMs);
  const bytes = largestOf(prediction, 'memory', nowMs);
  if (cpus === undefined && bytes === undefined) return { because: 'the prediction has no sample from now on' };
  return {
    ...(cpus !== undefined && { milliCpu: 1000 * cpus }),
    ...(bytes !== undefined && { memoryBytes: bytes }),
    because: 'the largest sample of the prediction from now on',
  };
}

function largestOf({ series }: TimeSeriesPrediction, resource: 'cpu' | 'memory', nowMs: number): number | undefined {
  const values = series
    .filter((each) => each.resource === resource)
    .flatMap(({ samples }) => fromNowOn(samples, nowMs).map(({ value }) => value));
  return values.length === 0 ? undefined : values.reduce((most, value) => Math.max(most, value));
}

/** The samples to come, and the one in force: the last one before them. A series that has ended has none. */
function fromNowOn(samples: readonly PredictedSample[], nowMs: number): readonly PredictedSample[] {
  const sorted = [...samples].sort((a, b) => a.atMs - b.atMs);
  const first = sorted.findIndex(({ atMs }) => atMs >= nowMs);
  if (first === -1) return [];
  return sorted.slice(sorted[first]!.atMs === nowMs ? first : Math.max(0, first - 1));
}
