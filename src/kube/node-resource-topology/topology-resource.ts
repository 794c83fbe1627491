import type { NodeResources } from '../../core/node-resources/node-resources';
import type { JsonObject } from '../json';
import type { KubeletConfig } from '../kubelet/kubelet-config';

/** The node that an object is about, as the API server knows it. */
export interface NodeIdentity {
  readonly name: string;
  /** Empty when the API server does not report it. */
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Content of the published object. */
export interface Report {
  readonly node: NodeIdentity;
  readonly resources: NodeResources;
  /** Of the pods that the amounts take into account; absent when they are not known. */
  readonly fingerprint?: string;
  /** The kubelet's own CPU manager is at work: CPUs are given out by it too. */
  readonly kubeletIsStatic: boolean;
  /** The kubelet's configuration, where it is known: what is reserved beside CPU. The amounts of `resources` do not know of it. */
  readonly kubelet?: KubeletConfig;
}

/** The fields of an object of ours, beside its metadata. */
export type Fields = Readonly<Record<string, unknown>>;

/** One of the custom resources in which a node's topology is published. */
export interface TopologyKind {
  readonly name: 'community' | 'crane';
  readonly apiVersion: string;
  /** All objects of the kind; one has its node's name. */
  readonly path: string;
  /** The fields that are ours, as they have to be. Pure. */
  readonly build: (report: Report) => Fields;
  /** The same fields with the entries that others have put into them; those of `stored` under our names are replaced. Pure. */
  readonly withForeign: (stored: JsonObject, fields: Fields) => Fields;
  /** Annotations that say in an older way what the fields say; they are removed. */
  readonly superseded: readonly string[];
}
