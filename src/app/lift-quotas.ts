import type { Logger } from 'pino';
import type { Container } from '../core/model/container';
import { namesIn } from '../core/model/names-of';
import type { NodeView } from '../core/model/node-model';
import type { Observation } from '../core/verdict/observation';
import { findThrottles } from '../core/verdict/throttling';
import { cgroupPathOf, type Cgroups } from '../host';
import { podCgroupOf } from './pod-cgroup';

/**
 * Lifts the CFS quotas that hold a pinned container back: its own, which somebody set again, and its pod's, which neither
 * NRI nor CRI reaches. Returns whether anything was written.
 */
export function liftQuotas(
  { view, cgroups, log }: { readonly view: NodeView; readonly cgroups: Cgroups; readonly log: Logger },
  container: Container,
  observation: Observation,
): boolean {
  let changed = false;
  for (const throttle of findThrottles(view, container, observation)) {
    const at = cgroupPathOf(container.cgroupsPath);
    const dir =
      at.kind === 'refused' ? undefined : throttle === 'pod' ? podCgroupOf(at.path, container.podUid) : at.path;
    if (dir === undefined) continue;
    const outcome = cgroups.writeQuota(dir, { quotaUs: -1 });
    const facts = { ...namesIn(view, container), of: throttle };
    if (outcome.kind === 'refused') log.debug({ ...facts, because: outcome.because }, 'quota not lifted');
    if (outcome.kind !== 'ok' || !outcome.changed) continue;
    changed = true;
    log.info(facts, 'quota lifted');
  }
  return changed;
}
