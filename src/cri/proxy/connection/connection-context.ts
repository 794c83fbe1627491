import type { FrameWriter } from '../http2/frame-writer';
import type { Interceptors } from '../interceptor';
import type { ReportFault } from './intercepted-call';
import type { FlowControl } from './flow-control';
import type { ProxiedStream } from './proxied-stream';
import type { RequestLimits } from './request-half';

/** Options that all connections of a proxy share. */
export interface ProxyConnectionOptions extends RequestLimits {
  readonly interceptors: Interceptors;
  readonly reportFault: ReportFault;
  /** Methods whose calls never end by themselves: on a drain they are ended at once. */
  readonly endlessPaths: ReadonlySet<string>;
}

/** One connection of the kubelet and its counterpart to the runtime: what both directions share. */
export interface ConnectionContext {
  readonly options: ProxyConnectionOptions;
  readonly toKubelet: FrameWriter;
  readonly toRuntime: FrameWriter;
  readonly flow: FlowControl;
  /** The calls that are open, by stream id. */
  readonly streams: ReadonlyMap<number, ProxiedStream>;
  readonly openStream: (stream: ProxiedStream) => void;
  /** The call is over: forgets its stream and what is held of it, and closes the connection if it was the last one awaited. */
  readonly closeStream: (stream: ProxiedStream) => void;
  /** The runtime broke the protocol in a turn of our own (after a hook). */
  readonly failRuntime: (err: unknown) => void;
  /** A call broke off inside a message: only the end of the connection can show it to the kubelet. */
  readonly truncate: () => void;
  /** Writes out what was queued, and reads on or stops reading as the sockets allow: the last thing of each turn. */
  readonly endTurn: () => void;
  /** Closes the connection if it is to close and no call is open. */
  readonly closeWhenDone: () => void;
}
