import type { Logger } from 'pino';
import type { NodeView } from '../../core/model/node-view';
import type { PodSpec } from '../../core/model/pod-spec';
import { loadPodFingerprint, type WatchedPod } from '../../kube';
import { countPods, type CountMode } from './counted-pods';

export interface PodFingerprintParts {
  readonly mode: CountMode | 'off';
  readonly log: Pick<Logger, 'debug' | 'warn' | 'info'>;
  /** A clock in milliseconds; for tests. */
  readonly nowMs?: () => number;
}

/** A pod that waits longer than this is a warning: it keeps the scheduler from trusting the node. */
const LONG_MS = 60_000;

/**
 * The fingerprint of the pods that the scheduler counts; it says to the scheduler that the amounts beside it know of
 * all of them.
 */
export class PodFingerprint {
  private fingerprintOf: ((pods: readonly PodSpec[]) => string) | undefined;
  private waiting: { readonly uid: string; readonly sinceMs: number; isLogged: boolean } | undefined;

  constructor(private readonly parts: PodFingerprintParts) {}

  async load(): Promise<void> {
    this.fingerprintOf = await loadPodFingerprint();
  }

  /** Undefined while the pods are not known, or one of them waits for CPUs which the amounts do not know of. */
  of(pods: readonly WatchedPod[] | undefined, view: NodeView): string | undefined {
    const { mode } = this.parts;
    if (!this.fingerprintOf || !pods || mode === 'off') return undefined;
    const { counted, undecided } = countPods(mode, pods, view);
    this.note(undecided);
    return undecided ? undefined : this.fingerprintOf(counted);
  }

  private note(undecided: PodSpec | undefined): void {
    const { log, nowMs = () => performance.now() } = this.parts;
    if (!undecided) {
      if (this.waiting?.isLogged) log.info('the fingerprint of the pods is published again');
      this.waiting = undefined;
      return;
    }
    const { uid, namespace, name } = undecided;
    const facts = { pod: `${namespace}/${name}`, podUid: uid };
    if (this.waiting?.uid !== uid) {
      log.debug(facts, 'the fingerprint of the pods is withheld: this one has not got its CPUs yet');
      this.waiting = { uid, sinceMs: nowMs(), isLogged: this.waiting?.isLogged ?? false };
    }
    if (this.waiting.isLogged || nowMs() - this.waiting.sinceMs < LONG_MS) return;
    this.waiting.isLogged = true;
    log.warn(
      facts,
      'the fingerprint of the pods is withheld for a minute now, and schedulers keep what they reserved on this node: this pod is bound here and can’t get its CPUs; make room for it, or delete it',
    );
  }
}
