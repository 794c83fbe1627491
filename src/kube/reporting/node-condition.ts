import type { Logger } from 'pino';
import { BackOff } from '../../net/back-off';
import { STRATEGIC_MERGE_PATCH, type KubeClient } from '../api/kube-client';
import { explainKubeError } from '../api/kube-error';
import { MissingRights } from '../api/missing-rights';

/** How it is with pinning on this node, for whoever looks at the Node. */
export interface NodeState {
  readonly ready: boolean;
  /** A word in upper camel case. */
  readonly reason: string;
  readonly message: string;
}

export interface NodeConditionParts {
  readonly client: Pick<KubeClient, 'send'>;
  readonly nodeName: string;
  readonly state: () => NodeState;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** The clock, RFC 3339. */
  readonly now: () => string;
  readonly debounceMs?: number;
}

const CONDITION_TYPE = 'CpusetdReady';
const DEBOUNCE_MS = 1_000;
/** A condition whose heartbeat is older than a few of these says nothing any more: nobody writes it when we are gone. */
const HEARTBEAT_MS = 5 * 60_000;

/** Keeps a condition of the Node up to date: at changes, and as a sign of life. */
export class NodeCondition {
  private readonly backOff = new BackOff({ leastMs: 1_000, mostMs: 60_000 });
  private timer: NodeJS.Timeout | undefined;
  private dueMs = Infinity;
  private last: NodeState | undefined;
  private since = '';
  private lastProblem = '';
  private readonly rights: MissingRights;

  constructor(private readonly parts: NodeConditionParts) {
    this.rights = new MissingRights(parts.log);
    parts.signal.addEventListener('abort', () => clearTimeout(this.timer), { once: true });
  }

  /** Something may have changed. Never waits, never throws. */
  touch(): void {
    if (this.lastProblem === '' && this.hasChanged()) this.schedule(this.parts.debounceMs ?? DEBOUNCE_MS);
  }

  private hasChanged(): boolean {
    try {
      return !sameState(this.last, this.parts.state());
    } catch {
      return true; // the write tells why
    }
  }

  private schedule(waitMs: number): void {
    const dueMs = performance.now() + waitMs;
    if (this.parts.signal.aborted || dueMs >= this.dueMs) return;
    clearTimeout(this.timer);
    this.dueMs = dueMs;
    this.timer = setTimeout(() => {
      this.write().then(
        (dueMs) => this.writeAgain(dueMs),
        (error: unknown) => this.writeAgain(this.noteProblem(error)),
      );
    }, waitMs);
  }

  private writeAgain(waitMs: number): void {
    this.dueMs = Infinity;
    this.schedule(waitMs);
    this.touch();
  }

  /** Resolves with the time until the next heartbeat. Rejects when the condition could not be told or written, whoever's fault it is. */
  private async write(): Promise<number> {
    const { client, nodeName, state, now } = this.parts;
    const current = state();
    if (this.last?.ready !== current.ready) this.since = now();
    const condition = {
      type: CONDITION_TYPE,
      status: current.ready ? 'True' : 'False',
      reason: current.reason,
      message: current.message,
      lastHeartbeatTime: now(),
      lastTransitionTime: this.since,
    };
    this.last = current;
    await client.send({
      method: 'PATCH',
      path: `/api/v1/nodes/${nodeName}/status`,
      contentType: STRATEGIC_MERGE_PATCH,
      body: { status: { conditions: [condition] } },
    });
    this.lastProblem = '';
    this.backOff.reset();
    return HEARTBEAT_MS;
  }

  /** Logs a problem once, and says when to try again. */
  private noteProblem(error: unknown): number {
    const { log, signal } = this.parts;
    const because = explainKubeError(error);
    const right = { verb: 'patch', resource: 'nodes/status', lost: 'the Node has no condition CpusetdReady' };
    if (because !== this.lastProblem && !signal.aborted && !this.rights.note(error, right))
      log.warn({ because }, 'the condition of the node can’t be written; trying again');
    this.lastProblem = because;
    return this.backOff.next();
  }
}

function sameState(a: NodeState | undefined, b: NodeState): boolean {
  return a !== undefined && a.ready === b.ready && a.reason === b.reason && a.message === b.message;
}
