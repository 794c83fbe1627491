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

/** Beyond this much unread by the kubelet nothing more is read that leads to more. */
const MAX_UNREAD_BYTES = 262_144;
/** The same for answers that wait for hooks. */
const MAX_DEFERRED_BYTES = 1_048_576;
const CLOSE_TIMEOUT_MS = 1_000;
/** A kubelet that does not answer the PING behind a GOAWAY in this time has its connection closed all the same, as by grpc-go. */
const GOAWAY_TIMEOUT_MS = 5_000;

export interface ProxyConnectionEvents {
  /** The runtime went away. */
  readonly onRuntimeGone: () => void;
  /** A call began, or the last one ended. */
  readonly onUse: () => void;
}

/**
 * One connection of the kubelet, tied to one connection to the runtime.
 *
 * Frames pass on as they are, with the same stream ids, so flow control, settings, pings and HPACK tables stay an affair
 * between the two peers. When the runtime goes, calls in flight are answered UNAVAILABLE, and so is what still comes,
 * until the runtime is back: then GOAWAY makes the kubelet connect anew, and nothing is lost on the way.
 */
export class ProxyConnection {
  readonly #streams = new Map<number, ProxiedStream>();
  readonly #context: ConnectionContext;
  readonly #requests: RequestPath;
  readonly #responses: ResponsePath;
  readonly #control: ControlFrames;
  readonly #shutdown: GracefulShutdown;
  readonly #router: FrameRouter;
  readonly #fromKubelet = new FrameReader({ expectPreface: true });
  readonly #fromRuntime = new FrameReader({ expectPreface: false });
  #offline: OfflineResponder | undefined;
  /** Frames that the kubelet sent before the runtime's first SETTINGS: an answer of ours must not come before those. */
  #early: Frame[] = [];
  #movedAt = performance.now();
  #wasBusy = false;
  #lastUsedStreamId = 0;
  #leaveTimer: NodeJS.Timeout | undefined;
  #isTruncated = false;
  /** The runtime is back, and this connection is of no use any more. */
  #isOutdated = false;
  #isClosing = false;
  #onClosed: () => void = () => undefined;
  /** Resolves when both connections are closed and every call has ended. */
  readonly closed = new Promise<void>((resolve) => (this.#onClosed = resolve));

  /** `runtime` is undefined when it can't be reached. */
  constructor(
    readonly kubelet: Socket,
    readonly runtime: Socket | undefined,
    readonly options: ProxyConnectionOptions,
    readonly events: ProxyConnectionEvents,
  ) {
    this.#context = {
      options,
      toKubelet: new FrameWriter(kubelet),
      toRuntime: new FrameWriter(runtime),
      flow: new FlowControl(),
      streams: this.#streams,
      openStream: (stream) => this.#streams.set(stream.id, stream),
      closeStream: (stream) => this.#closeStream(stream),
      failRuntime: (err) => this.#failRuntime(err),
      truncate: () => (this.#isTruncated = true),
      endTurn: () => this.#endTurn(),
      closeWhenDone: () => this.#closeWhenDone(),
    };
    this.#requests = new RequestPath(this.#context);
    this.#responses = new ResponsePath(this.#context);
    this.#control = new ControlFrames(this.#context, this.#requests, this.#fromKubelet, this.#fromRuntime);
    this.#shutdown = new GracefulShutdown(this.#context, this.#requests, this.#responses);
    this.#router = new FrameRouter(this.#context, this.#requests, this.#responses, this.#control, this.#shutdown);
  }

  /** Begins to pass frames on. */
  start(): void {
    const { kubelet, runtime } = this;
    this.#context.toRuntime.send(CLIENT_PREFACE);
    runtime?.on('data', (chunk: Buffer) => this.#takeFromRuntime(chunk));
    runtime?.on('drain', () => this.#endTurn());
    runtime?.on('error', () => undefined); // `close` follows
    runtime?.on('close', () => this.#loseRuntime());
    kubelet.on('data', (chunk: Buffer) => this.#takeFromKubelet(chunk));
    kubelet.on('drain', () => this.#endTurn());
    kubelet.on('error', () => undefined); // `close` follows
    kubelet.on('end', () => this.#endKubelet());
    kubelet.on('close', () => this.#closeAll());
    if (runtime === undefined) this.#goOffline();
    this.#endTurn();
    kubelet.resume();
  }

  get callsInFlight(): number {
    return this.#streams.size;
  }

  /** No call is in flight, and none waits for the runtime's first word. */
  get isIdle(): boolean {
    return this.callsInFlight === 0 && this.#early.length === 0;
  }

  /** The runtime can be reached again: a kubelet that got UNAVAILABLE here has to connect anew. */
  reconnect(): void {
    this.#isOutdated = this.#offline !== undefined;
    this.#closeWhenDone();
  }

  /** The time of the last bytes from either side, on the clock of `performance.now`. */
  get movedAt(): number {
    return this.#movedAt;
  }

  /** Takes no new calls, closes when those in flight have ended. */
  leave(): void {
    this.#retire({ endsEndless: false });
  }

  /** Does the same as `leave`, and ends the calls that would not end by themselves. */
  drain(): void {
    this.#retire({ endsEndless: true });
  }

  /** Ends what is still in flight with `error` and closes. */
  stop(error: ProxyError): void {
    for (const stream of [...this.#streams.values()]) {
      this.#responses.failWith(stream, error);
      stream.call?.endByProxy(error);
    }
    if (this.#control.hasRuntimeSpoken)
      this.#context.toKubelet.send(formatGoaway(this.#requests.lastStreamId, ErrorCode.none));
    this.#closeKubelet();
  }

  #retire(how: { readonly endsEndless: boolean }): void {
    this.#shutdown.request(how);
    if (this.#offline === undefined && this.#control.hasRuntimeSpoken) this.#shutdown.sendGoaway();
    this.#leaveTimer ??= setTimeout(() => {
      this.#shutdown.finish();
      this.#endTurn();
    }, GOAWAY_TIMEOUT_MS);
    this.#closeWhenDone();
    this.#endTurn();
  }

  #takeFromKubelet(chunk: Buffer): void {
    if (this.#isClosing) return;
    this.#movedAt = performance.now();
    try {
      this.#fromKubelet.feed(chunk, (frame) => this.#takeKubeletFrame(frame));
    } catch (err) {
      this.#failKubelet(err);
    }
    this.#endTurn();
  }

  /** The kubelet has SETTINGS now, of the runtime or of ours. */
  #takeEarly(): void {
    try {
      for (const frame of this.#early.splice(0)) this.#takeKubeletFrame(frame);
    } catch (err) {
      this.#failKubelet(err);
    }
  }

  #takeFromRuntime(chunk: Buffer): void {
    this.#movedAt = performance.now();
    try {
      this.#fromRuntime.feed(chunk, (frame) => this.#router.takeFromRuntime(frame));
    } catch (err) {
      this.#failRuntime(err);
    }
    if (this.#control.hasRuntimeSpoken) this.#takeEarly();
    this.#endTurn();
  }

  #takeKubeletFrame(frame: Frame): void {
    const isEarly = this.#offline === undefined && !this.#control.hasRuntimeSpoken;
    if (isEarly && (this.#early.length > 0 || frame.type !== FrameType.settings)) {
      this.#early.push(frame);
      return;
    }
    if (this.#offline === undefined) this.#router.takeFromKubelet(frame);
    else if (frame.type === FrameType.rstStream) this.#requests.takeReset(frame);
    else this.#offline.take(frame);
  }

  #closeStream(stream: ProxiedStream): void {
    this.#streams.delete(stream.id);
    this.#responses.forget(stream);
    this.#requests.forget(stream);
    this.#closeWhenDone();
  }

  #closeWhenDone(): void {
    if (this.#streams.size > 0) return;
    if (this.#offline !== undefined && (this.#isOutdated || this.#shutdown.isRequested) && !this.#isTruncated) {
      // Calls that the kubelet makes meanwhile count as not worked on, and are made again elsewhere.
      this.#context.toKubelet.send(formatGoaway(this.#offline.lastStreamId, ErrorCode.none));
      this.#closeKubelet();
    } else if (this.#shutdown.isFinal || this.#isTruncated) {
      this.#closeKubelet();
    }
  }

  /**
   * Says that nothing more will come, and waits until the kubelet closes: if we closed first, a call that it is just writing
   * would break its connection before it has read that the call was not worked on.
   */
  #closeKubelet(): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#context.toKubelet.flush();
    this.kubelet.end();
    this.kubelet.resume();
    const timer = setTimeout(() => this.kubelet.destroy(), CLOSE_TIMEOUT_MS);
    this.kubelet.once('close', () => clearTimeout(timer));
  }

  /** A client that will say nothing more reads nothing more either: a gRPC server closes, and cancels what is in flight. */
  #endKubelet(): void {
    if (!this.#isClosing) this.kubelet.destroy();
  }

  #loseRuntime(): void {
    if (this.#offline !== undefined || this.kubelet.destroyed) return;
    this.#goOffline();
    this.events.onRuntimeGone();
    this.#endTurn();
  }

  #goOffline(): void {
    this.#offline = new OfflineResponder(this.#context.toKubelet, this.#requests.lastStreamId);
    this.#control.answerOpen();
    this.#takeEarly();
    for (const stream of [...this.#streams.values()]) {
      this.#responses.failWith(stream, stream.request.isHeld ? runtimeUnavailable : runtimeLost);
    }
    this.#closeWhenDone();
  }

  #failKubelet(err: unknown): void {
    this.#report('the kubelet side broke the protocol', err);
    const code = err instanceof ConnectionError ? err.code : ErrorCode.internal;
    this.#context.toKubelet.send(formatGoaway(this.#requests.lastStreamId, code));
    this.#closeKubelet();
  }

  #failRuntime(err: unknown): void {
    this.#report('the runtime side broke the protocol', err);
    this.runtime?.destroy();
  }

  #report(what: string, err: unknown): void {
    this.options.reportFault({ what, err });
  }

  #closeAll(): void {
    clearTimeout(this.#leaveTimer);
    this.#isClosing = true;
    for (const stream of [...this.#streams.values()]) {
      stream.call?.endByCaller();
      this.#closeStream(stream);
    }
    this.runtime?.destroy();
    this.#onClosed();
  }

  #endTurn(): void {
    const { toKubelet, toRuntime } = this.#context;
    this.#requests.creditKubelet();
    toKubelet.flush();
    toRuntime.flush();
    this.#responses.readPassed();
    this.#noteUse();
    if (this.#isClosing) return;
    setReading(
      this.kubelet,
      this.#early.length === 0 && !toRuntime.isFull && toKubelet.bufferedBytes < MAX_UNREAD_BYTES,
    );
    if (this.runtime !== undefined)
      setReading(this.runtime, !toKubelet.isFull && this.#responses.deferredBytes < MAX_DEFERRED_BYTES);
  }

  #noteUse(): void {
    const isBusy = !this.isIdle;
    const { lastStreamId } = this.#offline ?? this.#requests;
    if (isBusy === this.#wasBusy && lastStreamId === this.#lastUsedStreamId) return;
    this.#wasBusy = isBusy;
    this.#lastUsedStreamId = lastStreamId;
    this.events.onUse();
  }
}

function setReading(socket: Socket, wanted: boolean): void {
  if (wanted !== socket.isPaused()) return;
  if (wanted) socket.resume();
  else socket.pause();
}
