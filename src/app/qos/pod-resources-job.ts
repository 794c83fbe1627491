import type { Container } from '../../core/model/container';
import { LastProblem } from '../../net/connection-state';
import type { QosPod } from '../../qos/objects/objects';
import { planPodQuotas, type QuotaChange } from '../../qos/reclaim/pod-quota';
import type { Metrics } from '../../qos/usage/metrics';
import type { DaemonContext } from '../context';
import type { QuotaWriter } from './quota-writer';

export interface PodResourcesParts {
  readonly context: Pick<DaemonContext, 'faults' | 'log' | 'model'>;
  /** The pods of this node, by the last news of the API server. */
  readonly pods: () => readonly QosPod[];
  readonly quotas: Pick<QuotaWriter, 'write'>;
  /** An action against the container is in force, which decides its quota. */
  readonly isThrottled: (containerId: string) => boolean;
  /** Figures that are older do not count. */
  readonly maxAgeMs: number;
  readonly signal: AbortSignal;
  readonly nowMs?: () => number;
}

export interface PodResourceFigures {
  readonly updated: number;
  readonly failed: number;
}

/**
 * Gives containers with a limit of `gocrane.io/cpu` the CFS quota of that limit, and says so when the kernel has it. It
 * is what the pod's spec says, so it stays when cpusetd ends. A container whose update fails is tried again after the
 * next collection.
 */
export class PodResourcesJob {
  private running: Promise<void> | undefined;
  private updated = 0;
  private failed = 0;
  /** Time of the last update of a container: figures from before it do not show its quota. */
  private readonly updatedAtMs = new Map<string, number>();
  private readonly problems = new Map<string, LastProblem>();

  constructor(private readonly parts: PodResourcesParts) {}

  get figures(): PodResourceFigures {
    return { updated: this.updated, failed: this.failed };
  }

  /**
   * Takes one collection. Never waits, never throws. While a round is under way it is left out, since the next one
   * comes soon.
   */
  onMetrics({ metrics, atMs }: { readonly metrics: Metrics; readonly atMs: number }): void {
    const { context, signal } = this.parts;
    if (this.running || signal.aborted) return;
    const round = context.faults.containAsync('setting quotas of gocrane.io/cpu', () => this.round(metrics, atMs));
    this.running = round.then(() => {
      this.running = undefined;
    });
  }

  /** Resolves when the round under way has ended. */
  async finish(): Promise<void> {
    await this.running;
  }

  private async round(metrics: Metrics, atMs: number): Promise<void> {
    const { context, pods, isThrottled, maxAgeMs, signal, nowMs = Date.now } = this.parts;
    const { containers } = context.model;
    this.forgetGone(containers);
    const changes = planPodQuotas({
      pods: pods(),
      metrics,
      maxAgeMs,
      nowMs: nowMs(),
      isThrottled,
      isPinned: (id) => keepsQuota(containers.get(id)),
    });
    const due = changes.filter(
      ({ containerId: id }) =>
        containers.get(id)?.phase === 'running' && atMs > (this.updatedAtMs.get(id) ?? -Infinity),
    );
    for (const change of due) {
      if (signal.aborted) return;
      await this.carryOut(change);
    }
  }

  private async carryOut(change: QuotaChange): Promise<void> {
    const { context, quotas, signal, nowMs = Date.now } = this.parts;
    const { containerId, namespace, pod, container, quotaUs, periodUs, shares, because } = change;
    const log = context.log.child({
      containerId,
      container,
      pod: `${namespace}/${pod}`,
      podUid: context.model.containers.get(containerId)?.podUid,
    });
    const problem = this.problems.get(containerId) ?? new LastProblem();
    this.problems.set(containerId, problem);
    const outcome = await quotas.write(containerId, quotaUs, periodUs, shares);
    if (outcome.kind === 'gone') return;
    if (outcome.kind === 'failed') {
      if (signal.aborted) return;
      this.failed += 1;
      const { because: why } = outcome;
      if (problem.isNew(why)) log.warn({ because: why }, 'the quota of gocrane.io/cpu can’t be set; trying again');
      return;
    }
    this.updated += 1;
    problem.clear();
    const isFirst = !this.updatedAtMs.has(containerId);
    this.updatedAtMs.set(containerId, nowMs());
    // A program that takes the quota away again would be logged in each collection.
    if (isFirst) log.info({ quotaUs, periodUs, shares, because }, 'a container has the quota of its gocrane.io/cpu');
  }

  private forgetGone(containers: ReadonlyMap<string, unknown>): void {
    for (const map of [this.updatedAtMs, this.problems])
      for (const id of map.keys()) if (!containers.has(id)) map.delete(id);
  }
}

/** True for a container with CPUs of its own, and for one that is not touched. */
function keepsQuota({ placement, leftAlone }: Partial<Container> = {}): boolean {
  return placement === 'exclusive' || placement === 'immovable' || leftAlone === true;
}
