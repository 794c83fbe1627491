import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { PodEvent } from '../../core/model/events';
import type { PodSpec } from '../../core/model/pod-spec';
import type { Transactor } from '../transaction/transactor';

export interface PodIngestParts {
  readonly transactor: Pick<Transactor, 'handle'>;
  readonly signal: AbortSignal;
  readonly log?: Logger;
  /** Delay before a change that could not be saved is tried again, in milliseconds; for tests. */
  readonly retryMs?: number;
  /** Minimum time between two changes of one pod, in milliseconds; for tests. */
  readonly paceMs?: number;
}

const RETRY_MS = 5_000;
/** Minimum time between two changes of one pod: its author may change it as often as he likes. */
const PACE_MS = 200;
/** A list of pods that have more containers in all is taken in pod by pod, each in its own turn of the event loop. */
const MAX_CONTAINERS_AT_ONCE = 500;

/**
 * Turns the pods of the API server into events of the node. While the API server is silent the last ones stay true. A
 * change that could not be saved is not done, and tried again later with the pod as it is then.
 *
 * A call has been carried out when it returns, unless the list is long or the pod changed a moment ago: then it follows
 * soon.
 */
export class PodIngest {
  private readonly known = new Map<string, PodSpec>();
  /** The uids of pods that have to be reported again; `all` = the whole list. */
  private unsaved: Set<string> | 'all' = new Set();
  private timer: NodeJS.Timeout | undefined;
  /** The pods of a long list that had no turn yet. */
  private queue: string[] = [];
  private turn: NodeJS.Immediate | undefined;
  /** Pods that were reported a moment ago, and whether they have changed since. */
  private readonly paced = new Map<string, { timer: NodeJS.Timeout; hasChanged: boolean }>();

  constructor(private readonly parts: PodIngestParts) {
    parts.signal.addEventListener('abort', () => this.stop(), { once: true });
  }

  /** Takes in all pods of the node: after the first list, and whenever the list was read anew. Never a part of them. */
  onList(specs: readonly PodSpec[]): void {
    const { known } = this;
    known.clear();
    for (const spec of specs) known.set(spec.uid, spec);
    clearImmediate(this.turn);
    const isLong = specs.reduce((sum, { containers }) => sum + containers.length, 0) > MAX_CONTAINERS_AT_ONCE;
    this.queue = isLong ? [...known.keys()].sort() : [];
    this.takeTurn();
  }

  /** Takes in a pod that was added or changed. The same pod again costs nothing. */
  onPod(spec: PodSpec): void {
    const { uid } = spec;
    if (isDeepStrictEqual(this.known.get(uid), spec)) return;
    this.known.set(uid, spec);
    const pause = this.paced.get(uid);
    if (pause) pause.hasChanged = true;
    else {
      this.beginPause(uid);
      this.report(uid);
    }
  }

  /** Takes in that the API server has the pod no more; `uid`: the one in its spec. */
  onGone(uid: string): void {
    this.known.delete(uid);
    this.report(uid);
  }

  private stop(): void {
    clearTimeout(this.timer);
    clearImmediate(this.turn);
    for (const { timer } of this.paced.values()) clearTimeout(timer);
  }

  /** `subject`: the uid of a pod, or `all`. */
  private report(subject: string): void {
    const { transactor, signal, retryMs = RETRY_MS } = this.parts;
    if (signal.aborted) return;
    const isSaved = transactor.handle(this.eventOf(this.unsaved === 'all' ? 'all' : subject)).kind === 'ok';
    if (subject === 'all' || this.unsaved === 'all') this.unsaved = isSaved ? new Set() : 'all';
    else if (isSaved) this.unsaved.delete(subject);
    else this.unsaved.add(subject);
    if (!isSaved) this.timer ??= setTimeout(() => this.retry(), retryMs).unref();
  }

  private eventOf(subject: string): PodEvent {
    if (subject === 'all') return { kind: 'pod-specs', specs: [...this.known.values()] };
    const spec = this.known.get(subject);
    return spec ? { kind: 'pod-spec', spec } : { kind: 'pod-spec-gone', uid: subject };
  }

  private retry(): void {
    this.timer = undefined;
    if (this.unsaved === 'all') this.reportSafely('all');
    else for (const uid of [...this.unsaved]) this.reportSafely(uid);
  }

  /** A failure here is a fault of ours; the other pods are reported all the same. */
  private reportSafely(subject: string): void {
    try {
      this.report(subject);
    } catch (error) {
      this.parts.log?.error({ err: error }, 'taking over pods of the API server failed');
    }
  }

  /**
   * Reports one pod of a long list; after the last one the list itself, in which only pods that are gone are new by
   * then.
   */
  private takeTurn(): void {
    this.turn = undefined;
    let uid = this.queue.shift();
    while (uid !== undefined && !this.known.has(uid)) uid = this.queue.shift(); // it went meanwhile, and that was reported
    if (uid !== undefined) this.turn = setImmediate(() => this.takeTurn());
    this.reportSafely(uid ?? 'all');
  }

  private beginPause(uid: string): void {
    const end = (): void => {
      const hasChanged = this.paced.get(uid)?.hasChanged === true;
      this.paced.delete(uid);
      if (!hasChanged || !this.known.has(uid)) return;
      this.beginPause(uid);
      this.reportSafely(uid);
    };
    const timer = setTimeout(end, this.parts.paceMs ?? PACE_MS).unref();
    this.paced.set(uid, { timer, hasChanged: false });
  }
}
