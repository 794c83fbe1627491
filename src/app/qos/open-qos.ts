import { hostname } from 'node:os';
import type { Metrics } from '../../admin/metrics/metrics';
import type { LentStatus, QosStatus, UsageStatus } from '../../admin/model/qos-status';
import { machineOf } from '../../core/topology';
import { readBootId } from '../../host';
import { KubeClient } from '../../kube';
import type { DaemonContext } from '../context';
import type { Task } from '../lifecycle/task-group';
import { OWED } from '../owed-effects/owed';
import { OwedNote } from '../owed-effects/owed-note';
import type { NodeActions } from './action-executor';
import { Avoidance, STALE_AFTER } from './avoidance';
import { Cluster } from './cluster';
import { onlyLent } from './lent-resources';
import { NodeResourcesJob } from './node-resources-job';
import { PodResourcesJob } from './pod-resources-job';
import { QosActionsNote } from './qos-actions-note';
import { QuotaWriter, type CpuUpdate } from './quota-writer';
import { StateCollector, type MetricsListener, type PodFacts } from './state-collector';
import { toSetStatus, toUsageStatus } from './usage-status';

export interface QosPartParts {
  readonly context: DaemonContext;
  /** CRI UpdateContainerResources. Rejects with a CpusetdError. */
  readonly update: (change: CpuUpdate) => Promise<void>;
  /** Shows it to operators. */
  readonly status: {
    readonly metrics: Pick<Metrics, 'addUsage' | 'addQos' | 'countQosAction'> | undefined;
    showUsage(read: () => UsageStatus | undefined): void;
    showQos(read: () => QosStatus | undefined): void;
    showLent(read: () => LentStatus | undefined): void;
    touch(): void;
  };
}

/**
 * Puts the room together: measures, follows rules, lends. Only what the options ask for, and what a killed process left
 * to undo.
 */
export class QosPart implements Task {
  /** Outlives the daemon's signal: what is undone at the end needs the API server. */
  private readonly lifetime = new AbortController();
  private readonly cluster: Cluster | undefined;
  private readonly note: QosActionsNote;
  private readonly quotas: QuotaWriter;
  private readonly avoidance: Avoidance;
  private readonly nodeResources: NodeResourcesJob | undefined;
  private readonly podResources: PodResourcesJob | undefined;
  private readonly collector: StateCollector | undefined;
  private lent: LentStatus | undefined;

  constructor(private readonly parts: QosPartParts) {
    const { context, update, status } = parts;
    const { config, model, cgroups } = context;
    const { stateDir } = config;
    const { alarms, log } = context;
    const note = (this.note = new QosActionsNote({ stateDir, alarms, log, bootId: readBootId() }));
    const quotas = (this.quotas = new QuotaWriter({ model, cgroups, update }));
    this.cluster = this.openCluster();
    this.avoidance = new Avoidance({
      context,
      note,
      quotas,
      node: this.cluster ?? WITHOUT_CLUSTER,
      objects: () =>
        this.cluster?.rules ?? { kind: 'unknown', because: 'rules come from the API server: set --kubeconfig' },
      writeEvent: (event) => this.cluster?.writeEvent(event),
      writePodEvent: (event) => this.cluster?.writePodEvent(event),
      count: (action, outcome) => status.metrics?.countQosAction(action, outcome),
    });
    this.nodeResources = this.openNodeResources();
    this.podResources = this.openPodResources();
    this.collector = this.openCollector();
    this.show();
  }

  async run(signal: AbortSignal): Promise<void> {
    const following = this.cluster?.run();
    try {
      await Promise.all([this.collector?.run(signal), this.avoidance.run(signal), this.nodeResources?.run(signal)]);
      await this.podResources?.finish();
    } finally {
      this.lifetime.abort();
      await following;
    }
  }

  private get maxAgeMs(): number {
    return STALE_AFTER * (this.parts.context.config.collectIntervalMs ?? 0);
  }

  private openCluster(): Cluster | undefined {
    const { config, log, signal, now } = this.parts.context;
    if (config.kubeconfig === undefined) return undefined;
    const isMeasuring = config.collectIntervalMs !== undefined;
    return new Cluster({
      client: new KubeClient(config.kubeconfig, this.lifetime.signal),
      nodeName: config.nodeName ?? hostname().toLowerCase(),
      log: log.child({ op: 'qos' }),
      signal,
      now,
      alarms: this.parts.context.alarms,
      follows: { rules: isMeasuring, predictions: config.nodeResource !== 'off' },
      ...(config.nodeResource !== 'off' && config.nodeResourcePrediction && { asksForPrediction: this.parts.context }),
    });
  }

  /** Without the option it removes what an earlier process left. */
  private openNodeResources(): NodeResourcesJob | undefined {
    const { context } = this.parts;
    const { cluster } = this;
    const { config } = context;
    if (!cluster) {
      const { alarms, log } = context;
      const { stateDir } = config;
      // Read all the same: one that can't be used is set aside, and an alarm.
      if (new OwedNote(OWED.lentResources, { stateDir, alarms, log }).load().kind !== 'nothing')
        log.warn('lent resources stay on the Node: set --kubeconfig once, so that cpusetd can remove them');
      return undefined;
    }
    const { nodeResource, nodeResourceReserved: reserved, nodeResourceExclusiveIdle: lendExclusiveIdle } = config;
    return new NodeResourcesJob({
      context,
      ...(nodeResource !== 'off' && {
        options: {
          reserved,
          lendExclusiveIdle,
          maxAgeMs: this.maxAgeMs,
          windowMs: config.nodeResourceWindowMs,
          percentile: config.nodeResourcePercentile,
          marginPercent: config.nodeResourceMargin,
        },
      }),
      nodeName: cluster.nodeName,
      read: async () => onlyLent(nodeResource, await cluster.readNode()),
      write: (wanted) => cluster.lend(wanted),
      held: () => cluster.held,
      prediction: () => cluster.prediction,
    });
  }

  private openPodResources(): PodResourcesJob | undefined {
    const { context } = this.parts;
    const { cluster, note, quotas, maxAgeMs } = this;
    if (!context.config.podResource || !cluster) return undefined;
    return new PodResourcesJob({
      context,
      quotas,
      maxAgeMs,
      signal: context.signal,
      pods: () => cluster.pods,
      isThrottled: (containerId) => note.throttles.some(({ id }) => id === containerId),
    });
  }

  private openCollector(): StateCollector | undefined {
    const { context, status } = this.parts;
    const { collectIntervalMs: intervalMs, ifaces } = context.config;
    if (intervalMs === undefined) return undefined;
    const onMetrics: readonly MetricsListener[] = [
      ...(this.cluster ? [{ part: 'following QoS rules', take: this.avoidance.take.bind(this.avoidance) }] : []),
      { part: 'lending resources', take: (collected) => this.nodeResources?.onMetrics(collected) },
      { part: 'giving pods their resources', take: (collected) => this.podResources?.onMetrics(collected) },
      { part: 'showing the use of the node', take: () => status.touch() },
    ];
    return new StateCollector({ context, intervalMs, interfaces: ifaces, pods: this.podFacts(), onMetrics });
  }

  private podFacts(): PodFacts {
    const { cluster } = this;
    return {
      hasElasticResources: (podUid, containerName) => {
        const container = cluster?.findPod(podUid)?.containers.find(({ name }) => name === containerName);
        return (container?.elasticRequestMilliCpu ?? container?.elasticRequestMemoryBytes) !== undefined;
      },
      isStatic: (podUid) => cluster?.findPod(podUid)?.isStatic === true,
      elasticCpu: () => {
        const allocatableMilliCpu = cluster?.nodeState?.lent.milliCpu;
        const requestedMilliCpu = cluster?.held.milliCpu;
        if (allocatableMilliCpu === undefined || requestedMilliCpu === undefined) return undefined;
        return { requestedMilliCpu, allocatableMilliCpu };
      },
    };
  }

  private show(): void {
    const { status, context } = this.parts;
    const { collector, maxAgeMs } = this;
    const qos = (): QosStatus | undefined =>
      (collector && this.cluster) || this.note.isInForce ? this.avoidance.status : undefined;
    const lent = (): LentStatus | undefined => this.showLent();
    status.showQos(qos);
    status.showLent(lent);
    status.metrics?.addQos(() => ({ qos: qos(), lent: lent() }));
    if (!collector) return;
    status.showUsage(() => this.showUsage());
    status.metrics?.addUsage(
      () => collector.latest && { ...collector.latest, sets: collector.latest.sets.map(toSetStatus) },
      { maxAgeMs: () => maxAgeMs },
    );
    context.log.info({ intervalMs: context.config.collectIntervalMs }, 'the use of the node is measured');
  }

  private showUsage(): UsageStatus | undefined {
    const latest = this.collector?.latest;
    if (!latest || Math.abs(Date.now() - latest.atMs) > this.maxAgeMs) return undefined;
    return toUsageStatus(latest, machineOf(this.parts.context.model.topology).online.size);
  }

  private showLent(): LentStatus | undefined {
    const { nodeResources } = this;
    if (!nodeResources || this.parts.context.config.nodeResource === 'off') return undefined;
    const { published, because } = nodeResources.figures;
    const { milliCpu, memoryBytes } = published;
    const last = this.lent;
    const isSame = last?.cpuMilli === milliCpu && last?.memoryBytes === memoryBytes;
    if (!last || !isSame || last.because !== because)
      this.lent = {
        ...(milliCpu !== undefined && { cpuMilli: milliCpu }),
        ...(memoryBytes !== undefined && { memoryBytes }),
        because,
        since: last && isSame ? last.since : this.parts.context.now(),
      };
    return this.lent;
  }
}

/** Without the API server there is no Node to mark: a taint that an earlier process left has to be removed by hand. */
const WITHOUT_CLUSTER: NodeActions = {
  mark: () =>
    Promise.reject(
      new Error('there is no API server: set --kubeconfig, or kubectl taint nodes NODE interference.crane.io-'),
    ),
  evict: () => Promise.reject(new Error('there is no API server: set --kubeconfig')),
};
