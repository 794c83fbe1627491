import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { PodEvent } from '../../core/model/events';
import type { PodSpec } from '../../core/model/pod-spec';
import type { Transactor } from '../transaction/transactor';

/** Hears of the pods of this node from the API server. */
export interface PodListener {
  /** All pods of the node: after the first list, and whenever the list was taken anew. Never a part of them. */
  onList(specs: readonly PodSpec[]): void;
  /** A pod was added or changed. Telling the same again costs nothing. */
  onPod(spec: PodSpec): void;
  /** The API server has the pod no more; by the uid in its spec. */
  onGone(uid: string): void;
}

export interface PodsParts {
  readonly transactor: Pick<Transactor, 'handle'>;
  readonly signal: AbortSignal;
  readonly log?: Logger;
  /** How soon something is told again that could not be made durable. */
  readonly retryMs?: number;
  /** The pause before a pod that changes again is told again, in milliseconds; for tests. */
  readonly paceMs?: number;
}

const RETRY_MS = 5_000;
/** A pod's author may change it as often as he likes; it is looked at so often. */
const PACE_MS = 200;
/** A list of pods that have more containers in all is told pod by pod, each a turn of its own: others are served in between. */
const MAX_CONTAINERS_AT_ONCE = 500;

/**
 * Brings what the API server tells on the one path of all events. While it is silent nothing happens here: what was told
 * last stays true. What the disk does not take is not done, and told again later, as it is by then.
 *
 * A call has been carried out when it returns, unless the list is long or the pod changed a moment ago: then it follows soon.
 */
export function attachPods({ transactor, signal, log, retryMs = RETRY_MS, paceMs = PACE_MS }: PodsParts): PodListener {
  const known = new Map<string, PodSpec>();
  /** The uids of pods that have to be told again; `all` = the list of them. */
  let untold: Set<string> | 'all' = new Set();
  let timer: NodeJS.Timeout | undefined;
  /** The pods of a long list that have not had their turn. */
  let queue: string[] = [];
  let turn: NodeJS.Immediate | undefined;
  /** Pods that were told a moment ago, and whether they have changed since. */
  const paced = new Map<string, { timer: NodeJS.Timeout; hasNews: boolean }>();
  signal.addEventListener(
    'abort',
    () => {
      clearTimeout(timer);
      clearImmediate(turn);
      for (const { timer: pause } of paced.values()) clearTimeout(pause);
    },
    { once: true },
  );

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
    if (untold === 'all') tellSafely('all');
    else for (const uid of [...untold]) tellSafely(uid);
  }

  /** A failure here is a fault of ours; the other pods are told all the same. */
  function tellSafely(what: string): void {
    try {
      tell(what);
    } catch (error) {
      log?.error({ err: error }, 'taking over what the API server told failed');
    }
  }

  /** One pod of a long list; after the last one the list itself, of which only what is gone is news by then. */
  function takeTurn(): void {
    turn = undefined;
    let uid = queue.shift();
    while (uid !== undefined && !known.has(uid)) uid = queue.shift(); // gone meanwhile, and told so
    if (uid !== undefined) turn = setImmediate(takeTurn);
    tellSafely(uid ?? 'all');
  }

  function beginPause(uid: string): void {
    const pause = setTimeout(() => {
      const hasNews = paced.get(uid)?.hasNews === true;
      paced.delete(uid);
      if (!hasNews || !known.has(uid)) return;
      beginPause(uid);
      tellSafely(uid);
    }, paceMs).unref();
    paced.set(uid, { timer: pause, hasNews: false });
  }

  return {
    onList(specs) {
      known.clear();
      for (const spec of specs) known.set(spec.uid, spec);
      clearImmediate(turn);
      const isLong = specs.reduce((sum, { containers }) => sum + containers.length, 0) > MAX_CONTAINERS_AT_ONCE;
      queue = isLong ? [...known.keys()].sort() : [];
      takeTurn();
    },
    onPod(spec) {
      const { uid } = spec;
      if (isDeepStrictEqual(known.get(uid), spec)) return;
      known.set(uid, spec);
      const pause = paced.get(uid);
      if (pause) pause.hasNews = true;
      else {
        beginPause(uid);
        tell(uid);
      }
    },
    onGone(uid) {
      known.delete(uid);
      tell(uid);
    },
  };
}
