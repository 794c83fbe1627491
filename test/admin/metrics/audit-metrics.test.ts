import { Registry } from 'prom-client';
import { AuditMetrics, type AuditFigures } from '../../../src/admin/metrics/audit-metrics';

const figures: AuditFigures = {
  tasks: {
    foreignTasks: { process: 2, kernel: 1, workqueue: 0, irq: 0, bound: 3 },
    foreignNs: { process: 1.5e9, kernel: 0, workqueue: 0, irq: 0, bound: 5e6 },
    ownerWaitNs: 2.5e8,
  },
  interrupts: { device: 4, kernel: 5, softirq: 6 },
  stealMs: 30,
  atMs: 1_700_000_000_500,
  busyMs: 12,
};

const valuesOf = async (registry: Registry) =>
  (await registry.metrics()).split('\n').filter((line) => line.startsWith('cpusetd_audit_'));

test('counters grow with each audit, gauges have the last one', async () => {
  const registry = new Registry();
  const metrics = new AuditMetrics(registry);
  metrics.note(figures);
  metrics.note({ ...figures, atMs: 1_700_000_060_500, busyMs: 13 });
  expect(await valuesOf(registry)).toEqual(
    expect.arrayContaining([
      'cpusetd_audit_foreign_tasks{kind="process"} 2',
      'cpusetd_audit_foreign_cpu_seconds_total{kind="process"} 3',
      'cpusetd_audit_foreign_cpu_seconds_total{kind="bound"} 0.01',
      'cpusetd_audit_interrupts_total{kind="softirq"} 12',
      'cpusetd_audit_steal_seconds_total 0.06',
      'cpusetd_audit_owner_wait_seconds_total 0.5',
      'cpusetd_audit_threads_visible 1',
      'cpusetd_audit_last_run_timestamp_seconds 1700000060.5',
      'cpusetd_audit_busy_seconds 0.013',
    ]),
  );
});

test('before the first audit no gauge has a value; where threads are hidden, none of them is counted', async () => {
  const registry = new Registry();
  const metrics = new AuditMetrics(registry);
  expect(await valuesOf(registry)).toEqual([
    'cpusetd_audit_steal_seconds_total 0',
    'cpusetd_audit_owner_wait_seconds_total 0',
  ]);
  metrics.note({ ...figures, tasks: undefined });
  const values = await valuesOf(registry);
  expect(values).toContain('cpusetd_audit_threads_visible 0');
  expect(values.filter((line) => line.includes('foreign_tasks'))).toEqual([]);
});
