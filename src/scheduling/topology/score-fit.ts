import type { WholeCpus } from '../policy/policy';
import type { Fit } from '../../core/fit';

/** The score of NodeResourceTopologyMatch, 0 to 100: the fewer zones, the better. 0 where zones do not matter. */
export function scoreFit(fit: Fit): number {
  return fit.kind === 'fit' && fit.grants.length > 0 ? Math.floor(100 / fit.grants.length) : 0;
}

/**
 * The score by whole CPUs, 0 to 100. `MostAllocated`: the fewer CPUs the chosen zones have left, the better, and 100
 * when they are then full. Nodes and zones with many free CPUs so stay for pods that need them. `LeastAllocated` is the
 * opposite.
 */
export function scoreWholeCpus(fit: Fit, { strategy }: Pick<WholeCpus, 'strategy'>): number {
  if (fit.kind !== 'fit' || fit.left.allocatable === 0) return 0;
  const free = Math.min(1, fit.left.free / fit.left.allocatable);
  return Math.round(100 * (strategy === 'MostAllocated' ? 1 - free : free));
}
