import { Counter, Gauge, type Registry } from 'prom-client';
import { TASK_KINDS } from '../../core/audit/sample';
import type { AuditTotals } from '../../core/audit/tally-audit';

/** The result of one audit: everything since the one before. */
export interface AuditFigures {
  /** Undefined where the threads of the machine are not visible. */
  readonly tasks: AuditTotals | undefined;
  /** Interrupts on exclusive CPUs, by kind. */
  readonly interrupts: Readonly<Record<string, number>>;
  /** Time that the hypervisor took from exclusive CPUs, in ms. */
  readonly stealMs: number;
  /** Time of the end, in ms since 1970. */
  readonly atMs: number;
  /** Time that the daemon worked on it, in ms. */
  readonly busyMs: number;
}

/** The figures of the background audit. Gauges have no value before its first result. */
export class AuditMetrics {
  private readonly foreignSeconds: Counter;
  private readonly interrupts: Counter;
  private readonly steal: Counter;
  private readonly ownerWait: Counter;
  private last: AuditFigures | undefined;

  constructor(registry: Registry) {
    const registers = [registry];
    const counter = (name: string, help: string, labelNames: readonly string[] = []): Counter =>
      new Counter({ name: `cpusetd_audit_${name}`, help, labelNames, registers });
    this.foreignSeconds = counter(
      'foreign_cpu_seconds_total',
      'Time that threads ran on exclusive CPUs that are not theirs, by the CPU on which each ran last.',
      ['kind'],
    );
    this.interrupts = counter('interrupts_total', 'Interrupts that exclusive CPUs handled.', ['kind']);
    this.steal = counter('steal_seconds_total', 'Time that the hypervisor took from exclusive CPUs.');
    this.ownerWait = counter(
      'owner_wait_seconds_total',
      'Time that threads with exclusive CPUs were ready without one.',
    );

    const gauge = (name: string, help: string, read: (last: AuditFigures) => number): void => {
      this.gauge(registry, name, help, [], (last) => [[{}, read(last)]]);
    };
    this.gauge(
      registry,
      'foreign_tasks',
      'Threads that the last audit saw on exclusive CPUs of others.',
      ['kind'],
      ({ tasks }) => TASK_KINDS.map((kind) => [{ kind }, tasks?.foreignTasks[kind]]),
    );
    gauge('threads_visible', '1 where the threads of the machine are visible to cpusetd.', ({ tasks }) =>
      tasks ? 1 : 0,
    );
    gauge('last_run_timestamp_seconds', 'Time of the last audit.', ({ atMs }) => atMs / 1000);
    gauge('busy_seconds', 'Time that cpusetd worked on the last audit.', ({ busyMs }) => busyMs / 1000);
  }

  note(figures: AuditFigures): void {
    const { tasks, interrupts, stealMs } = figures;
    this.last = figures;
    for (const kind of TASK_KINDS) this.foreignSeconds.inc({ kind }, (tasks?.foreignNs[kind] ?? 0) / 1e9);
    for (const [kind, count] of Object.entries(interrupts)) this.interrupts.inc({ kind }, count);
    this.steal.inc(stealMs / 1000);
    this.ownerWait.inc((tasks?.ownerWaitNs ?? 0) / 1e9);
  }

  /** An undefined value is left out. */
  private gauge(
    registry: Registry,
    name: string,
    help: string,
    labelNames: readonly string[],
    read: (last: AuditFigures) => [labels: Record<string, string>, value: number | undefined][],
  ): void {
    const lastOf = (): AuditFigures | undefined => this.last;
    new Gauge({
      name: `cpusetd_audit_${name}`,
      help,
      labelNames,
      registers: [registry],
      collect() {
        this.reset();
        const last = lastOf();
        // A gauge without labels has the value 0 by itself.
        if (!last && labelNames.length === 0) this.remove();
        for (const [labels, value] of last ? read(last) : []) if (value !== undefined) this.set(labels, value);
      },
    });
  }
}
