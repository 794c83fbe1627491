import type { PodSpec } from '../core/model/pod-spec';
import type { Transactor } from './transactor';

/** Hears of the pods of this node from the API server. Calls return when what follows has been carried out. */
export interface PodListener {
  /** All pods of the node: after the first list, and whenever the list was taken anew. Never a part of them. */
  onList(specs: readonly PodSpec[]): void;
  /** A pod was added or changed. Telling the same again does no harm. */
  onPod(spec: PodSpec): void;
  /** The API server has the pod no more; by the uid in its spec. */
  onGone(uid: string): void;
}

/**
 * Brings what the API server tells on the one path of all events. While it is silent nothing happens here: what was told
 * last stays true.
 */
export function attachPods({ transactor }: { readonly transactor: Pick<Transactor, 'handle'> }): PodListener {
  return {
    onList: (specs) => void transactor.handle({ kind: 'pod-specs', specs }),
    onPod: (spec) => void transactor.handle({ kind: 'pod-spec', spec }),
    onGone: (uid) => void transactor.handle({ kind: 'pod-spec-gone', uid }),
  };
}
