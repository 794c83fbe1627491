import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

import type { RefusalCode } from '../../core/model/events';
import { barredCpus, type AlignmentBoundary } from '../../core/topology';
import { DRIFT_CAUSES, type DriftCause } from '../../core/verdict/drift-cause';
import { VERDICT_KINDS } from '../../core/verdict/judge';
import { ALARM_KINDS } from '../model/alarm';
import { type ConnectionState } from '../../net/connection-state';
import { type ContainerStatus, type Status } from '../model/status';
import { AuditMetrics } from './audit-metrics';
import { formatContainerSeries } from './container-series';
import { countQosActions, formatQos, type QosActionName, type QosOutcome, type QosReading } from './qos-metrics';
import { Scrape, type MetricsSource } from './scrape';
import { formatUsage, type UsageReading } from './usage-metrics';

/** Buckets in seconds: from a decision in memory to a write to a slow disk. */
const BUCKETS = [0.00001, 0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1];

const REFUSAL_CODES: readonly RefusalCode[] = [
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'UNAVAILABLE',
  'INVALID_ARGUMENT',
  'INTERNAL',
];
const REPAIR_OUTCOMES = ['ok', 'failed'] as const;
const BOUNDARIES: readonly AlignmentBoundary[] = ['physical_cpu', 'uncore_cache', 'numa_node'];
const CONNECTION_STATES: readonly ConnectionState[] = ['off', 'connecting', 'synchronizing', 'ready'];

/**
 * The figures for Prometheus. The methods count events, at well under a microsecond each; gauges are read from the
 * source at each scrape. Names and meanings follow the kubelet's where it has them.
 */
export class Metrics {
  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE;
  private readonly registry = new Registry();
  private readonly registers = [this.registry];

  private readonly pinningRequests = this.counter(
    'cpu_manager_pinning_requests_total',
    'Containers that were entitled to exclusive CPUs.',
  );
  private readonly pinningErrors = this.counter(
    'cpu_manager_pinning_errors_total',
    'Containers that were entitled to exclusive CPUs and did not get them.',
  );
  private readonly aligned = new Counter({
    name: 'cpusetd_container_aligned_compute_resources_count',
    help: 'Allocations that are aligned to a unit of the machine.',
    labelNames: ['scope', 'boundary'],
    registers: this.registers,
  });
  private readonly refusals = this.counterBy('refusals_total', 'Requests that were refused, retries included.', 'code');
  private readonly drifts = this.counterBy('drift_total', 'Promises that the kernel did not have.', 'cause');
  private readonly repairs = this.counterBy('repairs_total', 'Attempts to repair a drift.', 'outcome');
  private readonly unwatched = this.counter(
    'unwatched_total',
    'Cpusets that could not be watched, or whose watch broke.',
  );
  private readonly gapSeconds = this.counter(
    'gap_seconds_total',
    'Time in which containers could start without cpusetd.',
  );
  private readonly gapContainers = this.counter(
    'gap_containers_total',
    'Containers that started without cpusetd and were placed afterwards.',
  );
  private readonly decisionSeconds = this.histogram('decision_seconds', 'Time to decide one request.');
  private readonly stateWriteSeconds = this.histogram('state_write_seconds', 'Time to make the state durable.');
  private readonly cgroupWriteSeconds = this.histogram(
    'cgroup_write_seconds',
    'Time to carry out all cgroup writes of one decision.',
  );

  private qosActions: Counter<'action' | 'outcome'> | undefined;
  /** Adds to the figures at each scrape, in the text format. */
  private readonly added: (() => string)[] = [];

  /** The readings of the present scrape. */
  private scrape: Scrape;

  constructor(private readonly source: MetricsSource) {
    const { node } = source;
    this.scrape = new Scrape(source);
    this.beginAtZero();
    const status = (): Status => this.scrape.status;
    this.gauge('cpu_manager_shared_pool_size_millicores', 'Size of the shared pool.', [], () => [
      [{}, node.sharedPool.size * 1_000],
    ]);
    this.gauge('cpu_manager_exclusive_cpu_allocation_count', 'Online CPUs that are allocated exclusively.', [], () => [
      [{}, node.exclusive.size],
    ]);
    this.gauge(
      'cpu_manager_allocation_per_numa',
      'Online CPUs that are allocated exclusively, by NUMA node.',
      ['numa_node'],
      () => node.topology.numaNodes.map(({ id, cpus }) => [{ numa_node: String(id) }, node.exclusive.countIn(cpus)]),
    );
    this.gauge('free_cpus', 'CPUs that can be allocated now.', [], () => [[{}, node.free.size]]);
    this.gauge('barred_cpus', 'Online CPUs that the cgroups of pods do not have.', [], () => [
      [{}, barredCpus(node.topology).size],
    ]);
    this.gauge('free_units', 'Units of the machine all of whose CPUs can be allocated now.', ['unit'], () => {
      const { cores, uncoreCaches, numaNodes } = this.scrape.freeUnits;
      return [
        [{ unit: 'physical_cpu' }, cores],
        [{ unit: 'uncore_cache' }, uncoreCaches],
        [{ unit: 'numa_node' }, numaNodes],
      ];
    });
    this.gauge(
      'largest_aligned_request_cpus',
      'CPUs of the largest request of a new container that can be aligned to a unit of the machine now.',
      ['boundary'],
      () => Object.entries(this.scrape.largestAligned).map(([boundary, cpus]) => [{ boundary }, cpus]),
    );
    this.gauge(
      'free_cpus_fragmentation_ratio',
      'Part of the free CPUs that lie in cores which are partly used.',
      [],
      () => [[{}, this.scrape.freeUnits.fragmentation]],
    );
    const countVerdicts = (isMeant: (container: ContainerStatus) => boolean) => () => {
      const containers = status().containers.filter(isMeant);
      return VERDICT_KINDS.map((verdict): [{ verdict: string }, number] => [
        { verdict },
        containers.filter((c) => c.verdict.kind === verdict).length,
      ]);
    };
    this.gauge(
      'container_verdicts',
      'Containers by what became of their promise.',
      ['verdict'],
      countVerdicts(({ pause }) => !pause),
    );
    this.gauge(
      'pause_container_verdicts',
      'The same of the pause containers of pods.',
      ['verdict'],
      countVerdicts(({ pause }) => pause === true),
    );
    for (const peer of ['nri', 'cri', 'kube'] as const) {
      this.gauge(`${peer}_connection_state`, '1 for the state that the connection is in.', ['state'], () =>
        CONNECTION_STATES.map((state) => [{ state }, (status().node[peer]?.state ?? 'off') === state ? 1 : 0]),
      );
    }
    this.gauge('alarms', 'Alarms that are raised now; status says what about.', ['kind'], () => {
      const { alarms } = status().node;
      return ALARM_KINDS.map((kind) => [{ kind }, alarms.filter((alarm) => alarm.kind === kind).length]);
    });
    this.gauge('start_time_seconds', 'Time of the start of this process; its counters count since then.', [], () => [
      [{}, Date.parse(status().node.startedAt) / 1_000],
    ]);
    this.gauge('build_info', 'Always 1; says which version runs.', ['version'], () => [
      [{ version: status().node.version }, 1],
    ]);
  }

  pinningRequested(): void {
    this.pinningRequests.inc();
  }

  /** Counts a refused container. @param entitled it was to have exclusive CPUs */
  refused(code: RefusalCode, { entitled }: { readonly entitled: boolean }): void {
    this.refusals.inc({ code });
    if (entitled) this.pinningErrors.inc();
  }

  /** Counts an entitled container that went to the shared pool. */
  fellBack(): void {
    this.pinningErrors.inc();
  }

  allocationAligned(boundary: AlignmentBoundary): void {
    this.aligned.inc({ scope: 'container', boundary });
  }

  drifted(cause: DriftCause): void {
    this.drifts.inc({ cause });
  }

  repaired(outcome: (typeof REPAIR_OUTCOMES)[number]): void {
    this.repairs.inc({ outcome });
  }

  cpusetUnwatched(): void {
    this.unwatched.inc();
  }

  gapEnded({ seconds, containers }: { readonly seconds: number; readonly containers: number }): void {
    this.gapSeconds.inc(seconds);
    this.gapContainers.inc(containers);
  }

  decisionTook(seconds: number): void {
    this.decisionSeconds.observe(seconds);
  }

  stateWriteTook(seconds: number): void {
    this.stateWriteSeconds.observe(seconds);
  }

  cgroupWritesTook(seconds: number): void {
    this.cgroupWriteSeconds.observe(seconds);
  }

  /**
   * Adds memory, CPU time, files and the event loop of the process, once. They cost a little all the time, so the first
   * scrape adds them.
   */
  addProcessFigures(): void {
    collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: 100 });
  }

  /** Adds the figures of the background audit, once. */
  addAudit(): AuditMetrics {
    return new AuditMetrics(this.registry);
  }

  /** Adds the figures of interrupts that are kept off exclusive CPUs, once. */
  addIrqAffinity(read: () => { readonly moved: number; readonly refused: number }): void {
    this.gauge('irq_affinity_moved', 'Interrupts that were moved off exclusive CPUs.', [], () => [[{}, read().moved]]);
    this.gauge('irq_affinity_refused', 'Interrupts on exclusive CPUs that can not be moved.', [], () => [
      [{}, read().refused],
    ]);
  }

  /**
   * Adds the figures of the node's use, once. Each scrape has the last reading; values older than `maxAgeMs` vanish,
   * also when nothing is read any more.
   */
  addUsage(
    read: () => UsageReading | undefined,
    { maxAgeMs, nowMs = Date.now }: { readonly maxAgeMs: () => number; readonly nowMs?: () => number },
  ): void {
    const { containerSeries = false } = this.source;
    this.added.push(() => formatUsage(read(), { maxAgeMs: maxAgeMs(), nowMs: nowMs(), containerSeries }));
  }

  /** Adds the figures of rules and of what is lent, once. */
  addQos(read: () => QosReading): void {
    this.qosActions = countQosActions(this.registry);
    this.added.push(() => formatQos(read()));
  }

  /** Counts an action of a rule, after `addQos`. */
  countQosAction(action: QosActionName, outcome: QosOutcome): void {
    this.qosActions?.inc({ action, outcome });
  }

  /** All figures in Prometheus' text format. */
  async expose(): Promise<string> {
    const scrape = new Scrape(this.source);
    this.scrape = scrape;
    const figures = await this.registry.metrics();
    const series = this.source.containerSeries ? formatContainerSeries(scrape.pinned) : '';
    return [figures, series, ...this.added.map((format) => format())].join('');
  }

  /** Begins each series of a counter at 0: Prometheus sees no growth in a series whose first value is 1. */
  private beginAtZero(): void {
    for (const code of REFUSAL_CODES) this.refusals.inc({ code }, 0);
    for (const cause of DRIFT_CAUSES) this.drifts.inc({ cause }, 0);
    for (const outcome of REPAIR_OUTCOMES) this.repairs.inc({ outcome }, 0);
    for (const boundary of BOUNDARIES) this.aligned.inc({ scope: 'container', boundary }, 0);
  }

  private counter(name: string, help: string): Counter {
    return new Counter({ name: `cpusetd_${name}`, help, registers: this.registers });
  }

  private counterBy<Label extends string>(name: string, help: string, label: Label): Counter<Label> {
    return new Counter({ name: `cpusetd_${name}`, help, labelNames: [label], registers: this.registers });
  }

  private histogram(name: string, help: string): Histogram {
    return new Histogram({ name: `cpusetd_${name}`, help, buckets: BUCKETS, registers: this.registers });
  }

  private gauge<Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
    read: () => [labels: Partial<Record<Label, string>>, value: number][],
  ): void {
    new Gauge({
      name: `cpusetd_${name}`,
      help,
      labelNames,
      registers: this.registers,
      collect() {
        this.reset();
        for (const [labels, value] of read()) this.set(labels, value);
      },
    });
  }
}
