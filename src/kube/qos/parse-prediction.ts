import type { PredictedSample, PredictedSeries, TimeSeriesPrediction } from '../../qos/reclaim/prediction';
import { asArray, asObject, asString } from '../json';

/**
 * A TimeSeriesPrediction object of the API server. Entries of another shape are left out. Older versions of the object
 * have `metricPredictedDataList` where newer ones have `predictionMetrics`.
 */
export function parsePrediction(json: unknown): TimeSeriesPrediction {
  const { spec, status } = asObject(json);
  const { predictionMetrics, metricPredictedDataList } = asObject(status);
  const metrics = [...asArray(predictionMetrics), ...asArray(metricPredictedDataList)];
  return {
    target: asString(asObject(asObject(spec)['targetRef'])['name']),
    series: metrics.flatMap(toSeries),
  };
}

function toSeries(metric: unknown): readonly PredictedSeries[] {
  const { resourceIdentifier: resource, prediction } = asObject(metric);
  if (resource !== 'cpu' && resource !== 'memory') return [];
  return asArray(prediction).map((series) => ({
    resource,
    samples: asArray(asObject(series)['samples']).flatMap(toSample),
  }));
}

/** The value is a decimal number as text, the time stamp seconds since 1970. */
function toSample(sample: unknown): readonly PredictedSample[] {
  const { value, timestamp } = asObject(sample);
  const text = asString(value).trim();
  const number = text === '' ? NaN : Number(text);
  const isGood = Number.isFinite(number) && number >= 0 && typeof timestamp === 'number' && Number.isFinite(timestamp);
  return isGood ? [{ atMs: 1000 * timestamp, value: number }] : [];
}
