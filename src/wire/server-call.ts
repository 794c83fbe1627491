import type { KeyValue, RequestEnvelope } from './envelope';
import { startTimer } from './start-timer';
import { StatusCode, TtrpcError } from './status';

/** The request that a handler gets. */
export interface TtrpcRequest {
  /** Full name of the service, with its package. */
  readonly service: string;
  readonly method: string;
  /** A view of the bytes that were received; they do not change. */
  readonly payload: Uint8Array;
  /** Time that was left of the caller's deadline when it sent the request, in ms; absent without a deadline. */
  readonly timeoutMs?: number;
  readonly metadata: readonly KeyValue[];
  /** Aborts, with a {@link TtrpcError} as its reason, when the answer is no longer awaited. */
  readonly signal: AbortSignal;
}

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

  // Node creates a signal (2 µs, a dozen objects) when it is read for the first time; most handlers never read it.
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** True when the caller's deadline was over before the request was read. */
  get isExpired(): boolean {
    return this.timeoutMs !== undefined && this.timeoutMs <= 0;
  }

  /** Starts the deadline of a call that is not answered at once. */
  startDeadline(onExpired: (error: TtrpcError) => void): void {
    this.timer = startTimer(this.timeoutMs, () => {
      const error = new TtrpcError(StatusCode.DEADLINE_EXCEEDED, 'the deadline of the call has passed');
      if (!this.settle()) return;
      this.controller.abort(error);
      onExpired(error);
    });
  }

  /** Ends the call. Returns true the first time: only the first caller answers. */
  settle(): boolean {
    if (this.settled) return false;
    this.settled = true;
    clearTimeout(this.timer);
    return true;
  }

  /** Aborts the handler's signal: its answer can't be sent any more. */
  abort(error: TtrpcError): void {
    if (this.settle()) this.controller.abort(error);
  }
}
