import type { RuntimeEvent } from './events';
import type { PodSpec } from './pod-spec';

/**
 * What the API server tells of the pods of this node. It comes beside the runtime's events and later than they do, or not
 * at all: nothing waits for it, and its silence means nothing.
 */
export type PodEvent =
  /** A pod was added, or something about it changed; told again, it changes nothing. */
  | { readonly kind: 'pod-spec'; readonly spec: PodSpec }
  /** The API server has the pod no more; `uid` is the one in its spec. */
  | { readonly kind: 'pod-spec-gone'; readonly uid: string }
  /** All pods of the node, and no others: a complete list, or not sent at all. */
  | { readonly kind: 'pod-specs'; readonly specs: readonly PodSpec[] };

/** Everything that is told to cpusetd, from whichever side. */
export type NodeEvent = RuntimeEvent | PodEvent;
