import type { PluginName } from './plugins';

/** A node that was left out, with the figure that decided. */
export interface Rejection {
  readonly plugin: PluginName;
  readonly message: string;
  /** The metric, or the resource of zones; empty when no figure decided. */
  readonly subject: string;
  readonly value: number;
  readonly limit: number;
}

/** The parts of a node's score. Those of plugins are from 0 to 100, `total` is the answer. */
export interface Scores {
  readonly Dynamic: number;
  readonly NodeResourceTopologyMatch: number;
  readonly wholeCpus: number;
  readonly total: number;
}

/**
 * The last verdict on the zones of a node. It is changed in place: thousands are made for each pod, and what outlives a
 * request costs much more time than what does not.
 */
export interface ZonesVerdict {
  /** The number of the kind of pod that it is about; 0 = there is none yet. */
  kind: number;
  rejection: Rejection | undefined;
  /** Scores from 0 to 100. */
  match: number;
  wholeCpus: number;
}

export const noVerdict = (): ZonesVerdict => ({ kind: 0, rejection: undefined, match: 0, wholeCpus: 0 });
