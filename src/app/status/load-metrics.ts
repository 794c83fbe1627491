import type { Metrics } from '../../admin/metrics/metrics';
import type { Config } from '../config';

/** Undefined when no address was given at which they can be read; their code is not loaded then. */
export async function loadMetrics(
  { metricsAddress, httpAddress, containerMetrics }: Config,
  source: ConstructorParameters<typeof Metrics>[0],
): Promise<Metrics | undefined> {
  if (metricsAddress === undefined && httpAddress === undefined) return undefined;
  const { Metrics } = await import('../../admin/metrics/metrics');
  return new Metrics({ ...source, containerSeries: containerMetrics });
}
