import type { NodeView } from '../../core/model/node-view';
import { systemCodeOf } from '../../core/system-errors';
import { isLost } from '../../core/verdict/observation';
import { isSameQuota } from '../../qos/avoidance/quota';
import type { QuotaReading } from '../../host';
import { messageOf } from '../alarms/faults';
import type { DaemonContext } from '../context';

export interface CpuUpdate {
  readonly containerId: string;
  /** In µs for each period; -1 = no limit. */
  readonly quotaUs?: number;
  readonly periodUs?: number;
  readonly shares?: number;
}

export interface QuotaWriterParts {
  readonly model: Pick<NodeView, 'containers'>;
  readonly cgroups: Pick<DaemonContext['cgroups'], 'files' | 'finder'>;
  /** CRI UpdateContainerResources. Rejects with a CpusetdError. */
  readonly update: (change: CpuUpdate) => Promise<void>;
}

export interface CpuQuota {
  readonly quotaUs: number;
  readonly periodUs: number;
}

export type QuotaOutcome =
  | { readonly kind: 'done' }
  /** The container has ended. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'failed'; readonly because: string };

/**
 * Changes the CFS quota of containers through the runtime, so that its record, systemd and the kernel have the same,
 * and reads it back from the kernel. The kubelet compares with what it asked for itself, so it does not change it back.
 */
export class QuotaWriter {
  constructor(private readonly parts: QuotaWriterParts) {}

  /** Never rejects. `shares` are set with it when they are given; they are not read back. */
  async write(containerId: string, quotaUs: number, periodUs: number, shares?: number): Promise<QuotaOutcome> {
    const { model, update } = this.parts;
    if (!model.containers.has(containerId)) return { kind: 'gone' };
    try {
      await update({ containerId, quotaUs, periodUs, ...(shares !== undefined && { shares }) });
    } catch (error) {
      // A runtime that has lost a container leaves its cgroup as it is: that has not ended.
      const isGone = systemCodeOf(error) === 'NOT_FOUND' && this.readFromKernel(containerId).kind === 'gone';
      return isGone ? { kind: 'gone' } : { kind: 'failed', because: messageOf(error) };
    }
    return this.readBack(containerId, quotaUs, periodUs);
  }

  /**
   * The quota and period that the kernel has, -1 = no limit; undefined when the container is gone or it can't be read.
   */
  read(containerId: string): CpuQuota | undefined {
    const read = this.readFromKernel(containerId);
    return read.kind === 'found' ? read : undefined;
  }

  private readBack(containerId: string, quotaUs: number, periodUs: number): QuotaOutcome {
    const read = this.readFromKernel(containerId);
    if (read.kind === 'gone') return { kind: 'gone' };
    if (read.kind === 'error') return { kind: 'failed', because: read.because };
    if (isSameQuota(read.quotaUs, quotaUs, periodUs)) return { kind: 'done' };
    const [has, wanted] = [read.quotaUs, quotaUs].map((us) => (us < 0 ? 'no quota' : `${us} µs`));
    return { kind: 'failed', because: `the kernel has ${has} after the runtime took ${wanted}` };
  }

  private readFromKernel(containerId: string): QuotaReading {
    const { model, cgroups } = this.parts;
    const container = model.containers.get(containerId);
    if (!container) return { kind: 'gone' };
    const reading = cgroups.finder.withCgroup(container, ({ cpuPath }) => cgroups.files.readQuota(cpuPath));
    if (reading.kind === 'gone' && isLost(reading.missing))
      return { kind: 'error', errno: 'ENOENT', because: reading.missing.because };
    return reading.kind === 'refused' ? { kind: 'error', errno: 'EINVAL', because: reading.because } : reading;
  }
}
