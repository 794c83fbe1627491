import type { Logger } from 'pino';
import { BackOff } from '../../net/back-off';
import { LastProblem } from '../../net/connection-state';
import { EarliestTimer } from '../../net/earliest-timer';
import { STRATEGIC_MERGE_PATCH, type KubeClient } from '../api/kube-client';
import { explainKubeError } from '../api/kube-error';
import { MissingRights } from '../api/missing-rights';

/** Content of a condition of the Node. */
export interface NodeState {
  /** The status of the condition. */
  readonly ready: boolean;
  /** A word in upper camel case. */
  readonly reason: string;
  readonly message: string;
}

export interface NodeConditionParts {
  readonly client: Pick<KubeClient, 'send'>;
  readonly nodeName: string;
  readonly state: () => NodeState;
  /** The type of the condition; `CpusetdReady` by default. */
  readonly type?: string;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** The clock, RFC 3339. */
  readonly now: () => string;
  readonly debounceMs?: number;
}

export const CONDITION_TYPE = 'CpusetdReady';
/**
 * The reason of a condition that was written at an orderly end: it holds until cpusetd runs again, however old it is.
 */
export const STOPPED = 'Stopped';
const DEBOUNCE_MS = 1_000;
/** Readers distrust a condition whose heartbeat is a few of these old, since it stops when cpusetd does. */
const HEARTBEAT_MS = 5 * 60_000;

/** Writes a condition of the Node at changes, and at each heartbeat. */
export class NodeCondition {
  private readonly backOff = new BackOff({ leastMs: 1_000, mostMs: 60_000 });
  private readonly timer: EarliestTimer;
  private last: NodeState | undefined;
  private since = '';
  private nodeUid: string | undefined;
  private readonly problem = new LastProblem();
  private readonly rights: MissingRights;

  constructor(private readonly parts: NodeConditionParts) {
    this.rights = new MissingRights(parts.log);
    this.timer = new EarliestTimer(() => this.run(), parts.signal);
  }

  /** Something may have changed. Never waits, never throws. */
  touch(): void {
    if (!this.problem.isSet && this.hasChanged()) this.timer.startIn(this.parts.debounceMs ?? DEBOUNCE_MS);
  }

  /** Writes it now, if it has changed. Rejects when it can't be written. */
  async flush(): Promise<void> {
    if (this.hasChanged()) await this.write();
  }

  /**
   * Writes the last state, after the signal was aborted. Rejects when it can't be written. `client`: one that does not
   * end with the signal.
   */
  async writeLast(state: NodeState, client: NodeConditionParts['client']): Promise<void> {
    await this.write(state, client);
  }

  /**
   * Takes in the UID of the Node; empty when there is none. A Node that is registered again has no condition, so it is
   * written soon.
   */
  noteNode(uid: string): void {
    const isAnother = this.nodeUid !== undefined && uid !== '' && uid !== this.nodeUid;
    this.nodeUid = uid;
    if (!isAnother) return;
    this.last = undefined;
    this.timer.startIn(this.parts.debounceMs ?? DEBOUNCE_MS);
  }

  private hasChanged(): boolean {
    try {
      return !sameState(this.last, this.parts.state());
    } catch {
      return true; // the write reports the reason
    }
  }

  private async run(): Promise<void> {
    const waitMs = await this.write().catch((error: unknown) => this.noteProblem(error));
    this.timer.restartIn(waitMs);
    this.touch();
  }

  /** Resolves with the milliseconds until the next heartbeat. Rejects when the condition can't be written. */
  private async write(current = this.parts.state(), client = this.parts.client): Promise<number> {
    const { nodeName, now, type = CONDITION_TYPE } = this.parts;
    if (this.last?.ready !== current.ready) this.since = now();
    const condition = {
      type,
      status: current.ready ? 'True' : 'False',
      reason: current.reason,
      message: current.message,
      lastHeartbeatTime: now(),
      lastTransitionTime: this.since,
    };
    this.last = undefined;
    await client.send({
      method: 'PATCH',
      path: `/api/v1/nodes/${nodeName}/status`,
      contentType: STRATEGIC_MERGE_PATCH,
      body: { status: { conditions: [condition] } },
    });
    this.last = current;
    this.problem.clear();
    this.backOff.reset();
    return HEARTBEAT_MS;
  }

  /** Logs a problem once. Returns the milliseconds until the next try. */
  private noteProblem(error: unknown): number {
    const { log, signal, type = CONDITION_TYPE } = this.parts;
    const because = explainKubeError(error);
    const right = { verb: 'patch', resource: 'nodes/status', lost: `the Node has no condition ${type}` };
    if (this.problem.isNew(because) && !signal.aborted && !this.rights.note(error, right))
      log.warn({ because }, 'the condition of the node can’t be written; trying again');
    return this.backOff.next();
  }
}

function sameState(a: NodeState | undefined, b: NodeState): boolean {
  return a !== undefined && a.ready === b.ready && a.reason === b.reason && a.message === b.message;
}
