import type { HeldBytes } from '../memory-budget';
import type { Outlet } from '../http2/frame-writer';
import type { Interceptors } from '../interceptor';
import type { ReportFault } from './intercepted-call';
import type { SendWindow } from './flow-control';
import type { Stream } from './proxied-stream';

/** What all connections of a proxy have in common. */
export interface RelayOptions {
  readonly interceptors: Interceptors;
  /** Longest message of an intercepted call. */
  readonly maxMessageBytes: number;
  readonly held: HeldBytes;
  /** The bytes that open calls cost us by being there, messages aside. */
  readonly open: HeldBytes;
  readonly reportFault: ReportFault;
  /** Methods whose calls never end by themselves: on a drain they are ended at once. */
  readonly endlessPaths: ReadonlySet<string>;
}

/** One connection of the kubelet and its counterpart to the runtime: what both directions share. */
export interface Link {
  readonly options: RelayOptions;
  readonly toKubelet: Outlet;
  readonly toRuntime: Outlet;
  readonly streams: Map<number, Stream>;
  readonly window: SendWindow;
  /** The runtime broke the protocol in a turn of our own (after a hook). */
  readonly fail: (err: unknown) => void;
  /** A call broke off inside a message: only the end of the connection can tell the kubelet. */
  readonly cutOff: () => void;
  /** Writes out what was queued, and reads on or stops reading as the sockets allow: the last thing of each turn. */
  readonly endTurn: () => void;
  /** A call has come to its end. */
  readonly onStreamEnd: () => void;
}
