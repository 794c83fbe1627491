/** The plugins of the extender with their weights; one that is left out is off. */
export interface PluginWeights {
  readonly Dynamic?: number;
  readonly NodeResourceTopologyMatch?: number;
}

export type PluginName = keyof PluginWeights;

export const PLUGIN_NAMES: readonly PluginName[] = ['Dynamic', 'NodeResourceTopologyMatch'];
export const MAX_WEIGHT = 1_000;

/**
 * The part of a plugin in the answer. kube-scheduler counts a point of an extender of weight 1 as ten points of a
 * plugin, so 0 to 100 and a weight become `score * weight / 10`, rounded: with `--plugins X=w` and extender weight 1
 * the plugin counts as with weight w.
 */
export function weigh(score: number, weight: number): number {
  return Math.round((score * weight) / 10);
}
