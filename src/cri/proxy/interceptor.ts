import type { ProxyError } from './proxy-errors';
import type { GrpcStatus } from './grpc/status';
import type { HeaderField } from './http2/hpack-static-table';

/** One intercepted call. Every hook of the call gets the same object, which can be a key for data of the hooks. */
export interface CallContext {
  /** `/package.Service/Method`. */
  readonly path: string;
  /** Request header fields, pseudo fields included; `-bin` values are base64 as on the wire. */
  readonly metadata: readonly HeaderField[];
  /**
   * Aborted when the decision is not needed any more: the caller gave up, the runtime ended the call or is gone, or we
   * stop.
   */
  readonly signal: AbortSignal;
}

/**
 * The message to forward (the one given, or it with bytes appended), or an error of ours that answers the call instead.
 */
export type RequestVerdict = Uint8Array | { readonly refuse: ProxyError };

/** The end of an intercepted call. */
export interface CallEnd {
  /** `runtime`: its own answer. `caller`: it cancelled or disconnected. `proxy`: refused, runtime lost, or stopping. */
  readonly origin: 'runtime' | 'caller' | 'proxy';
  readonly status: GrpcStatus;
  /** True when the request was sent to the runtime, which may have carried it out even if `origin` is not `runtime`. */
  readonly forwarded: boolean;
}

/**
 * The hooks for the calls of one method. A hook returns at once or by a promise; until then its call waits, and others
 * go on. An error in `onRequest` refuses the call (INTERNAL, without the error's text); an error in the others is
 * reported, and the runtime's answer passes.
 */
export interface Interceptor {
  /** The whole request message of a unary or server-streaming call, before the runtime sees it. */
  onRequest?(message: Uint8Array, call: CallContext): RequestVerdict | Promise<RequestVerdict>;
  /** Each message of the answer, before the caller has all of it. */
  onResponse?(message: Uint8Array, call: CallContext): void | Promise<void>;
  /**
   * Each message of the answer, after it was written to the caller and before any later frame of a peer is read: the
   * caller does not wait for the hook, and its next request is decided with the result. Not together with `onResponse`.
   */
  onPassed?(message: Uint8Array, call: CallContext): void;
  /** Exactly once per call, after everything else, before the caller sees the runtime's status. */
  onEnd?(end: CallEnd, call: CallContext): void | Promise<void>;
}

/** Interceptors by path, `/runtime.v1.RuntimeService/CreateContainer`. Other methods pass unread. */
export type Interceptors = ReadonlyMap<string, Interceptor>;
