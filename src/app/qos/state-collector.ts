import type { CpuSet } from '../../core/cpuset';
import { hasCgroup, type Container } from '../../core/model/container';
import { isLost } from '../../core/verdict/observation';
import type { NodeView } from '../../core/model/node-view';
import { cpusOf } from '../../core/model/pool-view';
import { TimeSlices } from '../../host';
import { UsageReader, type ContainerToRead } from '../../host/usage';
import {
  deriveMetrics,
  type DerivedUsage,
  type ElasticCpu,
  type MeasuredContainer,
} from '../../qos/usage/derive-metrics';
import type { UsageSample } from '../../qos/usage/sample';
import type { DaemonContext } from '../context';
import { Period, repeat } from '../lifecycle/repeat';

/** Facts about pods that the runtime does not know. `podUid` is the uid that the runtime knows the pod by. */
export interface PodFacts {
  /** True when the container requests `gocrane.io/cpu` or `gocrane.io/memory`. */
  hasElasticResources(podUid: string, containerName: string): boolean;
  /** True for a pod that is known to be static. */
  isStatic(podUid: string): boolean;
  /** Undefined when it is not known. */
  elasticCpu?(): ElasticCpu | undefined;
}

/** A part that uses the metrics. `part` names it for the operator, such as `analyzing the metrics`. */
export interface MetricsListener {
  readonly part: string;
  take(collected: Collected): void | Promise<void>;
}

export interface StateCollectorParts {
  readonly context: Pick<DaemonContext, 'config' | 'model' | 'cgroups' | 'faults' | 'log'>;
  readonly intervalMs: number;
  readonly interfaces: readonly string[];
  readonly pods: PodFacts;
  /** Called one after the other, in this order. One that fails does not keep the others from being called. */
  readonly onMetrics: readonly MetricsListener[];
  readonly procRoot?: string;
}

export interface Collected extends DerivedUsage {
  /** Time of the reading, in ms since 1970. */
  readonly atMs: number;
  /** The exclusive CPUs at the time of the reading. */
  readonly exclusive: CpuSet;
  /** Time that the collection took, without that of others, in ms. */
  readonly busyMs: number;
}

/** The longest time without a turn for the runtime, in ms. */
const SLICE_MS = 3;
const PART = 'collecting usage';

/**
 * Reads the counters of the node and of its containers in each interval, and derives metrics from them. A round that
 * fails is a fault: the metrics before it stay, with their time, so that they become stale.
 */
export class StateCollector {
  private before: UsageSample | undefined;
  /** The containers that had exclusive CPUs at the reading before. */
  private ownersBefore: ReadonlySet<string> = new Set();
  private collected: Collected | undefined;
  private readonly reader: UsageReader;
  private hasLoggedUnread = false;

  /** Throws CgroupError when there are no cpusets. */
  constructor(private readonly parts: StateCollectorParts) {
    const { context, procRoot } = parts;
    const { cgroupRoot, sysfsRoot } = context.config;
    this.reader = new UsageReader({ cgroupRoot, sysfsRoot, ...(procRoot !== undefined && { procRoot }) });
  }

  /** The last metrics; undefined before the first round. Their age counts: see `dropStale`. */
  get latest(): Collected | undefined {
    return this.collected;
  }

  /** Runs until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await repeat(() => this.round(), { period: new Period(this.parts.intervalMs), signal });
  }

  /** Makes one round; never rejects. */
  async round(): Promise<void> {
    const { context, onMetrics } = this.parts;
    const { faults } = context;
    let fresh: Collected | undefined;
    await faults.containAsync(PART, async () => {
      fresh = await this.collect();
    });
    if (!fresh) return;
    this.collected = fresh;
    const now = fresh;
    for (const listener of onMetrics)
      await faults.containAsync(listener.part, async () => {
        await listener.take(now);
      });
  }

  /** Throws the system's error when /proc/stat can't be read. */
  private async collect(): Promise<Collected> {
    const { context, interfaces, pods } = this.parts;
    const slices = new TimeSlices(SLICE_MS);
    const { measured, owners, toRead, lost } = this.listContainers();
    // Before the reading: what becomes exclusive meanwhile was not so in the time that is measured.
    const { exclusive } = context.model;
    const { sample, unread } = await this.reader.read({ containers: toRead, interfaces }, slices);
    this.logUnread(new Map([...lost, ...unread]));
    const elasticCpu = pods.elasticCpu?.();
    const derived = deriveMetrics(this.before, sample, {
      exclusive,
      // One that ended meanwhile has worked too, and its counter is gone: what others used is not known then.
      owners: new Set([...this.ownersBefore, ...owners]),
      containers: measured,
      ...(elasticCpu && { elasticCpu }),
    });
    this.before = sample;
    this.ownersBefore = owners;
    return { ...derived, exclusive, atMs: sample.atMs, busyMs: slices.busyMs };
  }

  /** The containers that have a cgroup and whose pod is known. Those of static pods have no series, as with Crane. */
  private listContainers(): {
    readonly measured: ReadonlyMap<string, MeasuredContainer>;
    /** Those with exclusive CPUs, also where their cgroups can't be read. */
    readonly owners: ReadonlySet<string>;
    readonly toRead: readonly ContainerToRead[];
    /** Those that run and whose cgroup is not found or can't be one, with the reason. */
    readonly lost: ReadonlyMap<string, string>;
  } {
    const { context, pods } = this.parts;
    const measured = new Map<string, MeasuredContainer>();
    const owners = new Set<string>();
    const toRead: ContainerToRead[] = [];
    const lost = new Map<string, string>();
    for (const container of context.model.containers.values()) {
      const { id, podUid, sandboxId, name } = container;
      const pod = context.model.pods.get(sandboxId);
      if (!pod || !hasCgroup(container)) continue;
      const isStatic = pods.isStatic(podUid);
      if (container.placement === 'exclusive') owners.add(id);
      else if (isStatic) continue;
      const at = context.cgroups.finder.find(container);
      if (at.kind === 'gone' && isLost(at.missing)) lost.set(id, at.missing.because);
      if (at.kind === 'refused') lost.set(id, at.because);
      if (at.kind !== 'found') continue;
      const ownCpus = ownCpusOf(context.model, container);
      toRead.push({ id, cgroupPath: at.path, cpuPath: at.cpuPath, hasOwnCpus: ownCpus !== undefined });
      if (isStatic) continue;
      const labels = {
        PodName: pod.name,
        PodNamespace: pod.namespace,
        PodUid: podUid,
        ContainerName: name,
        ContainerId: id,
        HasExtRes: pods.hasElasticResources(podUid, name) ? 'true' : 'false',
      } as const;
      measured.set(id, { labels, ...(ownCpus && { ownCpus }) });
    }
    return { measured, owners, toRead, lost };
  }

  private logUnread(unread: ReadonlyMap<string, string>): void {
    const [first] = unread;
    if (!first || this.hasLoggedUnread) return;
    this.hasLoggedUnread = true;
    const [containerId, because] = first;
    this.parts.context.log.warn({ containers: unread.size, containerId, because }, 'containers without usage metrics');
  }
}

/** The online ones of its exclusive or immovable CPUs; undefined when it has none. */
function ownCpusOf(model: NodeView, container: Container) {
  if (container.placement !== 'exclusive' && container.placement !== 'immovable') return undefined;
  const assignment = model.assignmentOf(container);
  return assignment && cpusOf(model, assignment);
}
