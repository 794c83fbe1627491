import type { PodEvent } from '../core/model/pod-event';
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

export interface PodsParts {
  readonly transactor: Pick<Transactor, 'handle'>;
  readonly signal: AbortSignal;
  /** How soon something is told again that could not be made durable. */
  readonly retryMs?: number;
}

const RETRY_MS = 5_000;

/**
 * Brings what the API server tells on the one path of all events. While it is silent nothing happens here: what was told
 * last stays true. What the disk does not take is not done, and told again later, as it is by then.
 */
export function attachPods({ transactor, signal, retryMs = RETRY_MS }: PodsParts): PodListener {
  const known = new Map<string, PodSpec>();
  /** The uids of pods that have to be told again; `all` = the list of them. */
  let untold: Set<string> | 'all' = new Set();
  let timer: NodeJS.Timeout | undefined;
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });

  /** `what`: the uid of a pod, or `all`. */
  function tell(what: string): void {
    if (signal.aborted) return;
    const isTold = transactor.handle(eventOf(untold === 'all' ? 'all' : what)).kind === 'ok';
    if (what === 'all' || untold === 'all') untold = isTold ? new Set() : 'all';
    else if (isTold) untold.delete(what);
    else untold.add(what);
    if (!isTold) timer ??= setTimeout(tellAgain, retryMs).unref();
  }

  function eventOf(what: string): PodEvent {
    if (what === 'all') return { kind: 'pod-specs', specs: [...known.values()] };
    const spec = known.get(what);
    return spec ? { kind: 'pod-spec', spec } : { kind: 'pod-spec-gone', uid: what };
  }

  function tellAgain(): void {
    timer = undefined;
    if (untold === 'all') tell('all');
    else for (const uid of [...untold]) tell(uid);
  }

  return {
    onList(specs) {
      known.clear();
      for (const spec of specs) known.set(spec.uid, spec);
      tell('all');
    },
    onPod(spec) {
      known.set(spec.uid, spec);
      tell(spec.uid);
    },
    onGone(uid) {
      known.delete(uid);
      tell(uid);
    },
  };
}
