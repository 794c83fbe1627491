import { Metrics } from '../../src/admin/metrics/metrics';
import { countTransaction } from '../../src/app/status/transaction-metrics';
import { CpuSet } from '../../src/core/cpuset';
import { sampleStatus } from '../admin/sample-status';
import { EIGHT_CPUS } from '../core/transition/node-driver';

/** The counters of containers that ask for CPUs. */
export function createMetricsOf() {
  const metrics = new Metrics({ status: () => sampleStatus, node: { topology: EIGHT_CPUS, exclusive: CpuSet.empty } });
  type Rest<T> = T extends (first: never, ...rest: infer R) => unknown ? R : never;
  return {
    count: (...done: Rest<typeof countTransaction>) => countTransaction(metrics, ...done),
    read: async () => {
      const text = await metrics.expose();
      const sum = (name: string): number =>
        [...text.matchAll(new RegExp(`^cpusetd_${name}(?:\\{.*\\})? (\\d+)$`, 'gm'))].reduce(
          (n, [, value]) => n + Number(value),
          0,
        );
      return {
        requests: sum('cpu_manager_pinning_requests_total'),
        errors: sum('cpu_manager_pinning_errors_total'),
        refusals: sum('refusals_total'),
      };
    },
  };
}
