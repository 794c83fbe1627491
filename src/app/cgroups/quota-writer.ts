import type { Logger } from 'pino';
import { namesIn } from '../../core/model/names-of';
import type { NodeView } from '../../core/model/node-model';
import type { QuotaStep } from '../../core/plan/plan-quotas';
import { cgroupPathOf, type Cgroups } from '../../host';
import { podCgroupOf } from './pod-cgroup';

export interface QuotaWriterParts {
  readonly model: NodeView;
  readonly cgroups: Cgroups;
  readonly log: Logger;
}

/**
 * Writes CFS quotas of containers and of their pods, which neither NRI nor CRI reaches. Every round asks for what is still missing; a
 * refusal of the kernel is said once, until its reason is another one or the quota could be written.
 */
export class QuotaWriter {
  /** By cgroup: why its quota could not be written, and which container it was written for. */
  private readonly refused = new Map<string, { readonly because: string; readonly containerId: string }>();

  constructor(private readonly parts: QuotaWriterParts) {}

  /** Returns whether anything was written. */
  write({ containerId, cgroupsPath, podUid, of, to }: QuotaStep): boolean {
    const { model, cgroups, log } = this.parts;
    const at = cgroupPathOf(cgroupsPath);
    const dir = at.kind === 'refused' ? undefined : of === 'pod' ? podCgroupOf(at.path, podUid) : at.path;
    if (dir === undefined) return false;
    const outcome = cgroups.writeQuota(dir, to);
    const container = model.allContainers.get(containerId);
    const facts = { ...(container ? namesIn(model, container) : { containerId, podUid }), of, quotaUs: to.quotaUs };
    if (outcome.kind === 'refused') {
      const { because } = outcome;
      const isNews = this.refused.get(dir)?.because !== because;
      this.refused.set(dir, { because, containerId });
      log[isNews ? 'warn' : 'debug']({ ...facts, because }, 'quota not written');
      return false;
    }
    const wasRefused = this.refused.delete(dir);
    if (outcome.kind === 'gone') return false;
    if (outcome.changed || wasRefused) log.info(facts, to.quotaUs < 0 ? 'quota lifted' : 'quota set again');
    return outcome.changed;
  }

  /** Forgets refusals that were met for containers which are gone. */
  keepOnly(containers: { has(containerId: string): boolean }): void {
    for (const [dir, { containerId }] of this.refused) if (!containers.has(containerId)) this.refused.delete(dir);
  }
}
