import type { NodeResources } from '../../core/node-resources/node-resources';
import type { JsonObject } from '../json';
import type { KubeletConfig } from '../kubelet/kubelet-config';
import type { NodeIdentity } from '../objects/owner-reference';
import type { NodeSummary } from './node-summary';

/** Content of the published object. */
export interface Report {
  readonly node: NodeIdentity;
  readonly resources: NodeResources;
  /** Fingerprint of the pods in the amounts; absent when they are not known. */
  readonly fingerprint?: string;
  /** The kubelet's own CPU manager is on and gives out CPUs too. */
  readonly kubeletIsStatic: boolean;
  /**
   * The kubelet's configuration, for reservations beside CPU, which `resources` does not contain; absent when not
   * known.
   */
  readonly kubelet?: KubeletConfig;
  /** The node in a few numbers, for people. */
  readonly summary?: NodeSummary;
}

/** The fields of an object, without its metadata. */
export type Fields = Readonly<Record<string, unknown>>;

/** One of the custom resources in which a node's topology is published. */
export interface TopologyKind {
  readonly name: 'community' | 'crane';
  readonly apiVersion: string;
  /** Path of the collection; an object has its node's name. */
  readonly path: string;
  /** Builds our fields. Pure. */
  readonly build: (report: Report) => Fields;
  /** Adds the entries of others in `stored` to our fields; entries under our names are replaced. Pure. */
  readonly withForeign: (stored: JsonObject, fields: Fields) => Fields;
  /** Annotations that the fields replace; they are removed. */
  readonly superseded: readonly string[];
}
