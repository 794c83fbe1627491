import type { ProxyError } from './proxy-errors';
import type { GrpcStatus } from './grpc/status';
import type { HeaderField } from './http2/hpack-static-table';

/** One call that passes through and is looked at. The same object goes to every hook of the call: a key for what the hooks remember. */
export interface CallContext {
  /** `/package.Service/Method`. */
  readonly path: string;
  /** Request header fields, pseudo fields included; `-bin` values are base64 as on the wire. */
  readonly metadata: readonly HeaderField[];
  /** Aborted when a decision is of no use any more: the caller gave up, the runtime ended the call or is gone, or we stop. */
  readonly signal: AbortSignal;
}

/** The message to forward (the one given, or it with bytes appended), or an error of ours that answers the call instead. */
export type RequestVerdict = Uint8Array | { readonly refuse: ProxyError };

/** The end of an intercepted call. */
export interface CallEnd {
  /** `runtime`: its own answer. `caller`: it cancelled or disconnected. `proxy`: refused, runtime lost, or stopping. */
  readonly origin: 'runtime' | 'caller' | 'proxy';
  readonly status: GrpcStatus;
  /** The runtime was sent the request. With an origin other than `runtime` it may or may not have carried it out. */
  readonly forwarded: boolean;
}

/**
 * Looks at the calls of one method. Every hook may answer at once or by a promise; until then the call waits, others
 * go on. An error thrown in `onRequest` refuses the call (INTERNAL, nothing of its text leaves); one thrown in the
 * others is reported and the runtime's answer passes.
 */
export interface Interceptor {
  /** The whole request message of a unary or server-streaming call, before the runtime sees it. */
  onRequest?(message: Uint8Array, call: CallContext): RequestVerdict | Promise<RequestVerdict>;
  /** Each message of the answer, before the caller has all of it. */
  onResponse?(message: Uint8Array, call: CallContext): void | Promise<void>;
  /**
   * Each message of the answer, behind the write that passes the rest of it on, and before anything else that a peer sends is
   * looked at: the caller need not wait for it, and nothing that it does next is decided without it. Not beside `onResponse`.
   */
  onPassed?(message: Uint8Array, call: CallContext): void;
  /** Exactly once per call, after everything else, before the caller sees the runtime's status. */
  onEnd?(end: CallEnd, call: CallContext): void | Promise<void>;
}

/** By path: `/runtime.v1.RuntimeService/CreateContainer`. What is not in here passes unseen. */
export type Interceptors = ReadonlyMap<string, Interceptor>;
