import { pino } from 'pino';
import { Metrics } from '../../../src/admin/metrics/metrics';
import { TransactionMetrics } from '../../../src/app/status/transaction-metrics';
import { Alarms } from '../../../src/app/alarms/alarms';
import { NodeModel } from '../../../src/core/model/node-model';
import type { NodeView } from '../../../src/core/model/node-view';
import { sampleStatus } from '../../admin/sample-status';
import { EIGHT_CPUS, settingsWith } from '../../core/transition/node-driver';
import { silentFaults } from '../../support/faults';

/** The counters of requests, errors and refusals. */
export function createMetricsOf() {
  const metrics = new Metrics({ status: () => sampleStatus, node: new NodeModel(EIGHT_CPUS, settingsWith()) });
  return {
    count: (model: NodeView, ...done: Parameters<TransactionMetrics['count']>) => {
      const log = pino({ level: 'silent' });
      const alarms = new Alarms({ log, now: () => '', onChange: () => undefined });
      new TransactionMetrics({ model, metrics, alarms, faults: silentFaults() }).count(...done);
    },
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
