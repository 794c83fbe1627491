import type { Metrics } from '../admin/metrics';
import type { Alarms } from './alarms';
import type { TransactorParts } from './transactor';

type Save = TransactorParts['save'];

/** The same save; how long each took is measured, and one that failed is an alarm until one succeeds. */
export function watchSaves(
  save: Save,
  { metrics, alarms }: { readonly metrics: Metrics | undefined; readonly alarms: Alarms },
): Save {
  return (...state) => {
    const startMs = performance.now();
    const problem = save(...state);
    metrics?.stateWriteTook((performance.now() - startMs) / 1000);
    if (problem) alarms.raise('state-not-saved', '', problem.because);
    else alarms.clear('state-not-saved', '');
    return problem;
  };
}
