import type { AvoidanceAction, NodeQos, PodQos, QosPod } from './objects';

/** The objects of the API server that are about this node. */
export type ObjectsOfNode =
  | KnownObjects
  /** No news of at least one of them for long: nobody knows whether the rules still hold. */
  | { readonly kind: 'unknown'; readonly because: string };

export interface KnownObjects {
  readonly kind: 'known';
  readonly nodeQoss: readonly NodeQos[];
  readonly podQoss: readonly PodQos[];
  readonly actions: ReadonlyMap<string, AvoidanceAction>;
  readonly pods: readonly QosPod[];
  readonly nodeLabels: Readonly<Record<string, string>>;
}
