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
  /** Methods that stream without an end: a drain ends their calls at once. */
  readonly endlessPaths: ReadonlySet<string>;
}

/** The state that both directions of one connection share: of the kubelet, and its counterpart to the runtime. */
export interface ConnectionContext {
  readonly options: ProxyConnectionOptions;
  readonly toKubelet: FrameWriter;
  readonly toRuntime: FrameWriter;
  readonly flow: FlowControl;
  /** The open calls by stream id. */
  readonly streams: ReadonlyMap<number, ProxiedStream>;
  readonly openStream: (stream: ProxiedStream) => void;
  /** Ends a call: drops its stream and its held data, and closes the connection if that waits for its last call. */
  readonly closeStream: (stream: ProxiedStream) => void;
  /** Ends the connection to the runtime, which broke the protocol; called after a hook, outside of a socket event. */
  readonly failRuntime: (err: unknown) => void;
  /** Closes the connection: a call broke off inside a message, and nothing else can show that to the kubelet. */
  readonly truncate: () => void;
  /** Flushes both writers, and pauses or resumes reading as the sockets allow. The last step of each turn. */
  readonly endTurn: () => void;
  /** Closes a connection that is leaving when no call is open. */
  readonly closeWhenDone: () => void;
}
