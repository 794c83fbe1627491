import type { KeyValue, RequestEnvelope } from './envelope';
import { StatusCode, TtrpcError } from './status';

/** A request as a handler sees it. */
export interface TtrpcRequest {
  readonly service: string;
  readonly method: string;
  /** A view of what was received, which nobody writes to again. */
  readonly payload: Uint8Array;
  /** What was left of the caller's deadline when it sent the request; absent: there is none. */
  readonly timeoutMs?: number;
  readonly metadata: readonly KeyValue[];
  /** Aborts, with a {@link TtrpcError} as its reason, when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

const maxTimerMs = 2 ** 31 - 1;

/** One call on the server's side, from its request to its answer. */
export class ServerCall implements TtrpcRequest {
  readonly service: string;
  readonly method: string;
  readonly payload: Uint8Array;
  readonly metadata: readonly KeyValue[];
  declare readonly timeoutMs?: number;
  private readonly controller = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private settled = false;

  constructor(
    readonly streamId: number,
    envelope: RequestEnvelope,
  ) {
    this.service = envelope.service;
    this.method = envelope.method;
    this.payload = envelope.payload;
    this.metadata = envelope.metadata;
    if (envelope.timeoutNano !== 0) this.timeoutMs = envelope.timeoutNano / 1e6;
  }

  // Node builds a signal (2 µs, a dozen objects) when it is asked for the first time; most handlers never ask.
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Whether the caller's deadline was over before the request was read. */
  get isExpired(): boolean {
    return this.timeoutMs !== undefined && this.timeoutMs <= 0;
  }

  /** Starts the deadline of a call that is not answered at once. */
  startDeadline(onExpired: (error: TtrpcError) => void): void {
    const { timeoutMs } = this;
    if (timeoutMs === undefined || timeoutMs > maxTimerMs) return;
    this.timer = setTimeout(() => {
      const error = new TtrpcError(StatusCode.DEADLINE_EXCEEDED, 'the deadline of the call has passed');
      if (!this.settle()) return;
      this.controller.abort(error);
      onExpired(error);
    }, timeoutMs);
  }

  /** True for the first who brings the call to its end; only the first answers. */
  settle(): boolean {
    if (this.settled) return false;
    this.settled = true;
    clearTimeout(this.timer);
    return true;
  }

  /** Tells the handler that its answer will go nowhere. */
  abort(error: TtrpcError): void {
    if (this.settle()) this.controller.abort(error);
  }
}
