import type { Socket } from 'node:net';
import { ControlFrames } from './control-frames';
import { FrameRouter } from './frame-router';
import { GracefulShutdown } from './graceful-shutdown';
import { CLIENT_PREFACE, ConnectionError, ErrorCode, formatGoaway, FrameType, type Frame } from '../http2/frame';
import { FrameReader } from '../http2/frame-reader';
import { FrameWriter } from '../http2/frame-writer';
import type { ConnectionContext, ProxyConnectionOptions } from './connection-context';
import { OfflineResponder } from './offline-responder';
import { runtimeLost, runtimeUnavailable, type ProxyError } from '../proxy-errors';
import { RequestPath } from './request-path';
import { ResponsePath } from './response-path';
import { FlowControl } from './flow-control';
import type { ProxiedStream } from './proxied-stream';

/** Most answer bytes that the kubelet has not read; beyond it, its requests are not read. */
const MAX_UNREAD_BYTES = 262_144;
/** Most bytes of answers that wait for hooks. */
const MAX_DEFERRED_BYTES = 1_048_576;
const CLOSE_TIMEOUT_MS = 1_000;
/**
 * Maximum time for the answer to the PING behind a GOAWAY; then the second GOAWAY is sent all the same, as by grpc-go.
 */
const GOAWAY_TIMEOUT_MS = 5_000;

export interface ProxyConnectionEvents {
  /** The runtime went away. */
  readonly onRuntimeGone: () => void;
  /** A call began, or the last one ended. */
  readonly onUse: () => void;
}

/**
 * One connection of the kubelet and its own connection to the runtime.
 *
 * Frames are forwarded unchanged, with the same stream ids, so the two peers agree on flow control, settings, pings and
 * HPACK tables with each other. When the runtime goes away, calls in flight and new ones are answered UNAVAILABLE. When
 * it is back, GOAWAY makes the kubelet connect anew, and no call is lost.
 */
export class ProxyConnection {
  private readonly streams = new Map<number, ProxiedStream>();
  private readonly context: ConnectionContext;
  private readonly requests: RequestPath;
  private readonly responses: ResponsePath;
  private readonly control: ControlFrames;
  private readonly shutdown: GracefulShutdown;
  private readonly router: FrameRouter;
  private readonly fromKubelet = new FrameReader({ expectPreface: true });
  private readonly fromRuntime = new FrameReader({ expectPreface: false });
  private offline: OfflineResponder | undefined;
  /** Frames that the kubelet sent before the runtime's first SETTINGS: no answer of ours may precede those. */
  private early: Frame[] = [];
  private trafficAt = performance.now();
  private wasBusy = false;
  private lastUsedStreamId = 0;
  private leaveTimer: NodeJS.Timeout | undefined;
  private isTruncated = false;
  /** The runtime is back, and this connection can't use it. */
  private isOutdated = false;
  private isClosing = false;
  private onClosed: () => void = () => undefined;
  /** Resolves when both connections are closed and every call has ended. */
  readonly closed = new Promise<void>((resolve) => (this.onClosed = resolve));

  /** `runtime` is undefined when it can't be reached. */
  constructor(
    readonly kubelet: Socket,
    readonly runtime: Socket | undefined,
    readonly options: ProxyConnectionOptions,
    readonly events: ProxyConnectionEvents,
  ) {
    this.context = {
      options,
      toKubelet: new FrameWriter(kubelet),
      toRuntime: new FrameWriter(runtime),
      flow: new FlowControl(),
      streams: this.streams,
      openStream: (stream) => this.streams.set(stream.id, stream),
      closeStream: (stream) => this.closeStream(stream),
      failRuntime: (err) => this.failRuntime(err),
      truncate: () => (this.isTruncated = true),
      endTurn: () => this.endTurn(),
      closeWhenDone: () => this.closeWhenDone(),
    };
    this.requests = new RequestPath(this.context);
    this.responses = new ResponsePath(this.context);
    this.control = new ControlFrames(this.context, this.requests, this.fromKubelet, this.fromRuntime);
    this.shutdown = new GracefulShutdown(this.context, this.requests, this.responses);
    this.router = new FrameRouter(this.context, this.requests, this.responses, this.control, this.shutdown);
  }

  /** Begins to forward frames. */
  start(): void {
    const { kubelet, runtime } = this;
    this.context.toRuntime.send(CLIENT_PREFACE);
    runtime?.on('data', (chunk: Buffer) => this.takeFromRuntime(chunk));
    runtime?.on('drain', () => this.endTurn());
    runtime?.on('error', () => undefined); // `close` follows
    runtime?.on('close', () => this.loseRuntime());
    kubelet.on('data', (chunk: Buffer) => this.takeFromKubelet(chunk));
    kubelet.on('drain', () => this.endTurn());
    kubelet.on('error', () => undefined); // `close` follows
    kubelet.on('end', () => this.endKubelet());
    kubelet.on('close', () => this.closeAll());
    if (runtime === undefined) this.goOffline();
    this.endTurn();
    kubelet.resume();
  }

  get callsInFlight(): number {
    return this.streams.size;
  }

  /** True when no call is in flight, and none waits for the runtime's SETTINGS. */
  get isIdle(): boolean {
    return this.callsInFlight === 0 && this.early.length === 0;
  }

  /** Ends an offline connection, since the runtime can be reached again and the kubelet has to connect anew. */
  reconnect(): void {
    this.isOutdated = this.offline !== undefined;
    this.closeWhenDone();
  }

  /** The time of the last bytes from either side, on the clock of `performance.now`. */
  get lastTrafficAt(): number {
    return this.trafficAt;
  }

  /** Takes no new calls, and closes when those in flight have ended. */
  leave(): void {
    this.retire({ endsEndless: false });
  }

  /** Does the same as `leave`, and ends the calls of methods that stream without an end. */
  drain(): void {
    this.retire({ endsEndless: true });
  }

  /** Ends the calls in flight with `error`, and closes. */
  stop(error: ProxyError): void {
    for (const stream of [...this.streams.values()]) {
      this.responses.failWith(stream, error);
      stream.call?.endByProxy(error);
    }
    if (this.control.hasRuntimeSettings)
      this.context.toKubelet.send(formatGoaway(this.requests.lastStreamId, ErrorCode.none));
    this.closeKubelet();
  }

  private retire(how: { readonly endsEndless: boolean }): void {
    this.shutdown.request(how);
    if (this.offline === undefined && this.control.hasRuntimeSettings) this.shutdown.sendGoaway();
    this.leaveTimer ??= setTimeout(() => {
      this.shutdown.finish();
      this.endTurn();
    }, GOAWAY_TIMEOUT_MS);
    this.closeWhenDone();
    this.endTurn();
  }

  private takeFromKubelet(chunk: Buffer): void {
    if (this.isClosing) return;
    this.trafficAt = performance.now();
    try {
      this.fromKubelet.feed(chunk, (frame) => this.takeKubeletFrame(frame));
    } catch (err) {
      this.failKubelet(err);
    }
    this.endTurn();
  }

  /** Takes the early frames: the kubelet has got SETTINGS, the runtime's or ours. */
  private takeEarly(): void {
    try {
      for (const frame of this.early.splice(0)) this.takeKubeletFrame(frame);
    } catch (err) {
      this.failKubelet(err);
    }
  }

  private takeFromRuntime(chunk: Buffer): void {
    this.trafficAt = performance.now();
    try {
      this.fromRuntime.feed(chunk, (frame) => this.router.takeFromRuntime(frame));
    } catch (err) {
      this.failRuntime(err);
    }
    if (this.control.hasRuntimeSettings) this.takeEarly();
    this.endTurn();
  }

  private takeKubeletFrame(frame: Frame): void {
    const isEarly = this.offline === undefined && !this.control.hasRuntimeSettings;
    if (isEarly && (this.early.length > 0 || frame.type !== FrameType.settings)) {
      this.early.push(frame);
      return;
    }
    if (this.offline === undefined) this.router.takeFromKubelet(frame);
    else if (frame.type === FrameType.rstStream) this.requests.takeReset(frame);
    else this.offline.take(frame);
  }

  private closeStream(stream: ProxiedStream): void {
    this.streams.delete(stream.id);
    this.responses.forget(stream);
    this.requests.forget(stream);
    this.closeWhenDone();
  }

  private closeWhenDone(): void {
    if (this.streams.size > 0) return;
    if (this.offline !== undefined && (this.isOutdated || this.shutdown.isRequested) && !this.isTruncated) {
      // After GOAWAY the kubelet knows that its later calls were not worked on, and makes them again elsewhere.
      this.context.toKubelet.send(formatGoaway(this.offline.lastStreamId, ErrorCode.none));
      this.closeKubelet();
    } else if (this.shutdown.isFinal || this.isTruncated) {
      this.closeKubelet();
    }
  }

  /**
   * Ends our side, and waits until the kubelet closes. If we closed first, a call that it is just writing would break
   * the connection before it has read that the call was not worked on.
   */
  private closeKubelet(): void {
    if (this.isClosing) return;
    this.isClosing = true;
    this.context.toKubelet.flush();
    this.kubelet.end();
    this.kubelet.resume();
    const timer = setTimeout(() => this.kubelet.destroy(), CLOSE_TIMEOUT_MS);
    this.kubelet.once('close', () => clearTimeout(timer));
  }

  /** The client has ended its side: closes and cancels the calls in flight, as a gRPC server does. */
  private endKubelet(): void {
    if (!this.isClosing) this.kubelet.destroy();
  }

  private loseRuntime(): void {
    if (this.offline !== undefined || this.kubelet.destroyed) return;
    this.goOffline();
    this.events.onRuntimeGone();
    this.endTurn();
  }

  private goOffline(): void {
    this.offline = new OfflineResponder(this.context.toKubelet, this.requests.lastStreamId);
    this.control.answerOpen();
    this.takeEarly();
    for (const stream of [...this.streams.values()]) {
      this.responses.failWith(stream, stream.request.isHeld ? runtimeUnavailable : runtimeLost);
    }
    this.closeWhenDone();
  }

  private failKubelet(err: unknown): void {
    this.report('the kubelet side broke the protocol', err);
    const code = err instanceof ConnectionError ? err.code : ErrorCode.internal;
    this.context.toKubelet.send(formatGoaway(this.requests.lastStreamId, code));
    this.closeKubelet();
  }

  private failRuntime(err: unknown): void {
    this.report('the runtime side broke the protocol', err);
    this.runtime?.destroy();
  }

  private report(what: string, err: unknown): void {
    this.options.reportFault({ what, err });
  }

  private closeAll(): void {
    clearTimeout(this.leaveTimer);
    this.isClosing = true;
    for (const stream of [...this.streams.values()]) {
      stream.call?.endByCaller();
      this.closeStream(stream);
    }
    this.runtime?.destroy();
    this.onClosed();
  }

  private endTurn(): void {
    const { toKubelet, toRuntime } = this.context;
    this.requests.creditKubelet();
    toKubelet.flush();
    toRuntime.flush();
    this.responses.readPassed();
    this.noteUse();
    if (this.isClosing) return;
    setReading(
      this.kubelet,
      this.early.length === 0 && !toRuntime.isFull && toKubelet.bufferedBytes < MAX_UNREAD_BYTES,
    );
    if (this.runtime !== undefined)
      setReading(this.runtime, !toKubelet.isFull && this.responses.deferredBytes < MAX_DEFERRED_BYTES);
  }

  private noteUse(): void {
    const isBusy = !this.isIdle;
    const { lastStreamId } = this.offline ?? this.requests;
    if (isBusy === this.wasBusy && lastStreamId === this.lastUsedStreamId) return;
    this.wasBusy = isBusy;
    this.lastUsedStreamId = lastStreamId;
    this.events.onUse();
  }
}

function setReading(socket: Socket, wanted: boolean): void {
  if (wanted !== socket.isPaused()) return;
  if (wanted) socket.resume();
  else socket.pause();
}
