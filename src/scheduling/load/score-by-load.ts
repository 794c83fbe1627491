import { periodOf, type SchedulerPolicy } from '../policy/policy';
import { freshFigure, freshHotValue, type NodeLoad } from './node-load';

export const MAX_SCORE = 100;

/**
 * The score of a node from 0 to 100, as crane-scheduler's plugin `Dynamic` counts it: the weighted mean of `1 - load`,
 * less ten for each point of the hot value. The weight of a figure that is missing or too old counts, so that a node
 * without figures scores 0.
 */
export function scoreByLoad(policy: SchedulerPolicy, load: NodeLoad, nowMs: number): number {
  let sum = 0;
  let weights = 0;
  for (const { name, weight } of policy.priority) {
    const value = freshFigure(load, name, periodOf(policy, name), nowMs);
    // The order of the operations is upstream's: in floating point another one can give another integer.
    if (value !== undefined) sum += (1 - value) * weight * MAX_SCORE;
    weights += weight;
  }
  if (!(weights > 0)) return 0;
  const score = Math.trunc(sum / weights) - Math.trunc(freshHotValue(load, nowMs) * 10);
  return score > 0 ? Math.min(score, MAX_SCORE) : 0;
}
