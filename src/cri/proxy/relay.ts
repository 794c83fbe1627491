import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { ControlFrames, readPing } from './control-frames';
import { FrameReader } from './http2/frame-reader';
import {
  CLIENT_PREFACE,
  ConnectionError,
  ErrorCode,
  Flag,
  formatGoaway,
  formatPing,
  formatRstStream,
  FrameType,
  hasFlag,
  readUInt31,
  type Frame,
} from './http2/frame';
import { Outlet } from './http2/outlet';
import type { Link, RelayOptions } from './link';
import { OfflineResponder } from './offline-responder';
import { runtimeLost, runtimeUnavailable, stopping } from './own-errors';
import { RequestPath } from './request-path';
import { ResponsePath } from './response-path';
import { SendWindow } from './send-window';
import type { Stream } from './stream';

const MAX_STREAM_ID = 0x7fffffff;
/** Beyond this much unread by the kubelet, or waiting for hooks, nothing more is read that leads to more. */
const MAX_BUFFERED_BYTES = 1_048_576;
const CLOSE_TIMEOUT_MS = 1_000;

/**
 * One connection of the kubelet, tied to one connection to the runtime.
 *
 * Frames pass on as they are, with the same stream ids, so flow control, settings, pings and HPACK tables stay an affair
 * between the two peers. When the runtime goes, calls in flight are answered UNAVAILABLE, and so is what still comes,
 * until the runtime is back: then GOAWAY makes the kubelet connect anew, and nothing is lost on the way.
 */
export class Relay {
  readonly #link: Link;
  readonly #requests: RequestPath;
  readonly #responses: ResponsePath;
  readonly #control: ControlFrames;
  readonly #fromKubelet = new FrameReader({ expectPreface: true });
  readonly #fromRuntime = new FrameReader({ expectPreface: false });
  #offline: OfflineResponder | undefined;
  #hasKubeletSpoken = false;
  #drain: 'no' | 'wanted' | 'announced' | 'final' = 'no';
  readonly #drainPing = randomBytes(8);
  #isCutOff = false;
  /** The runtime is back, and this connection is of no use any more. */
  #isOutdated = false;
  #isClosing = false;
  #onClosed: () => void = () => undefined;
  /** Resolves when both connections are closed and every call has ended. */
  readonly closed = new Promise<void>((resolve) => (this.#onClosed = resolve));

  /** `runtime` is undefined when it can't be reached. `onRuntimeGone` is called when it goes away later. */
  constructor(
    readonly kubelet: Socket,
    readonly runtime: Socket | undefined,
    readonly options: RelayOptions,
    readonly onRuntimeGone: () => void,
  ) {
    this.#link = {
      options,
      toKubelet: new Outlet(kubelet),
      toRuntime: new Outlet(runtime),
      streams: new Map<number, Stream>(),
      window: new SendWindow(),
      fail: (err) => this.#failRuntime(err),
      cutOff: () => (this.#isCutOff = true),
      endTurn: () => this.#endTurn(),
      onStreamEnd: () => this.#closeWhenDone(),
    };
    this.#requests = new RequestPath(this.#link);
    this.#responses = new ResponsePath(this.#link, this.#requests);
    this.#control = new ControlFrames(this.#link, this.#requests, this.#fromKubelet, this.#fromRuntime);
  }

  /** Begins to pass frames on. */
  start(): void {
    const { kubelet, runtime } = this;
    this.#link.toRuntime.send(CLIENT_PREFACE);
    runtime?.on('data', (chunk: Buffer) => this.#takeFromRuntime(chunk));
    runtime?.on('drain', () => this.#endTurn());
    runtime?.on('error', () => undefined); // `close` follows
    runtime?.on('close', () => this.#loseRuntime());
    kubelet.on('data', (chunk: Buffer) => this.#takeFromKubelet(chunk));
    kubelet.on('drain', () => this.#endTurn());
    kubelet.on('error', () => undefined); // `close` follows
    kubelet.on('close', () => this.#closeAll());
    if (runtime === undefined) this.#goOffline();
    this.#endTurn();
    kubelet.resume();
  }

  get callsInFlight(): number {
    return this.#link.streams.size;
  }

  /** The runtime can be reached again: a kubelet that was told UNAVAILABLE here is to connect anew. */
  reconnect(): void {
    this.#isOutdated = this.#offline !== undefined;
    this.#closeWhenDone();
  }

  /** Takes no new calls, finishes those in flight, closes. The kubelet loses nothing: GOAWAY comes in two steps (RFC 9113 §6.8). */
  drain(): void {
    if (this.#drain !== 'no') return;
    this.#drain = 'wanted';
    if (!this.#hasKubeletSpoken) this.kubelet.destroy();
    else if (this.#offline === undefined && this.#control.hasRuntimeSpoken) this.#announceDrain();
    this.#closeWhenDone();
    this.#endTurn();
  }

  /** Ends what is still in flight with UNAVAILABLE and closes. */
  stop(): void {
    for (const stream of [...this.#link.streams.values()]) {
      this.#responses.lose(stream, stopping);
      void stream.call?.end({ origin: 'proxy', status: stopping });
    }
    if (this.#control.hasRuntimeSpoken)
      this.#link.toKubelet.send(formatGoaway(this.#requests.lastStreamId, ErrorCode.none));
    this.#closeKubelet();
  }

  #takeFromKubelet(chunk: Buffer): void {
    if (this.#isClosing) return;
    try {
      this.#fromKubelet.feed(chunk, (frame) => this.#takeKubeletFrame(frame));
    } catch (err) {
      this.#failKubelet(err);
    }
    this.#endTurn();
  }

  #takeFromRuntime(chunk: Buffer): void {
    try {
      this.#fromRuntime.feed(chunk, (frame) => this.#passToKubelet(frame));
    } catch (err) {
      this.#failRuntime(err);
    }
    this.#endTurn();
  }

  #takeKubeletFrame(frame: Frame): void {
    this.#hasKubeletSpoken = true;
    if (frame.type === FrameType.rstStream) this.#takeKubeletReset(frame);
    else if (this.#offline !== undefined) this.#offline.take(frame);
    else this.#passToRuntime(frame);
  }

  #passToRuntime(frame: Frame): void {
    if (this.#requests.isInsideHeaderBlock && frame.type !== FrameType.continuation) throw interrupted();
    switch (frame.type) {
      case FrameType.data:
        this.#requests.takeData(frame);
        break;
      case FrameType.headers:
      case FrameType.continuation:
        this.#requests.takeHeaders(frame);
        break;
      case FrameType.settings:
        this.#control.takeKubeletSettings(frame);
        break;
      case FrameType.ping:
        if (this.#isDrainPing(frame)) this.#finishDrain();
        else this.#control.takeKubeletPing(frame);
        break;
      case FrameType.pushPromise:
        throw new ConnectionError(ErrorCode.protocol, 'a client pushes');
      default:
        this.#link.toRuntime.pass(frame);
    }
  }

  #passToKubelet(frame: Frame): void {
    if (this.#responses.isInsideHeaderBlock && frame.type !== FrameType.continuation) throw interrupted();
    switch (frame.type) {
      case FrameType.data:
        this.#responses.takeData(frame);
        break;
      case FrameType.headers:
      case FrameType.continuation:
        this.#responses.takeHeaders(frame);
        break;
      case FrameType.rstStream:
        this.#responses.takeReset(frame);
        break;
      case FrameType.windowUpdate:
        this.#requests.sender.takeWindowUpdate(frame);
        break;
      case FrameType.settings:
        this.#control.takeRuntimeSettings(frame);
        if (this.#drain === 'wanted') this.#announceDrain();
        break;
      case FrameType.ping:
        this.#control.takeRuntimePing(frame);
        break;
      case FrameType.goaway:
        this.#takeRuntimeGoaway(frame);
        break;
      case FrameType.pushPromise:
        throw new ConnectionError(ErrorCode.protocol, 'a gRPC server pushes');
      default:
        this.#link.toKubelet.pass(frame);
    }
  }

  #takeKubeletReset(frame: Frame): void {
    const stream = this.#link.streams.get(frame.streamId);
    if (stream !== undefined) this.#responses.drop(stream);
    this.#requests.takeReset(frame);
  }

  #isDrainPing(frame: Frame): boolean {
    return this.#drain === 'announced' && hasFlag(frame, Flag.ack) && readPing(frame).equals(this.#drainPing);
  }

  /** Calls above the last stream were not worked on: the kubelet makes them again on its next connection. */
  #takeRuntimeGoaway(frame: Frame): void {
    this.#link.toKubelet.pass(frame);
    const lastStreamId = readUInt31(frame, 0);
    for (const stream of [...this.#link.streams.values()]) {
      if (stream.id <= lastStreamId) continue;
      this.#responses.drop(stream);
      this.#requests.end(stream);
      if (stream.call !== undefined) stream.call.wasForwarded = false;
      void stream.call?.end({
        origin: 'runtime',
        status: { code: 14, message: 'not worked on: the runtime is going away' },
      });
      this.#closeWhenDone();
    }
  }

  #announceDrain(): void {
    const { toKubelet, toRuntime, streams, options } = this.#link;
    this.#drain = 'announced';
    toKubelet.send(formatGoaway(MAX_STREAM_ID, ErrorCode.none));
    toKubelet.send(formatPing(this.#drainPing, false));
    for (const stream of [...streams.values()]) {
      if (!options.endlessPaths.has(stream.path)) continue;
      toRuntime.send(formatRstStream(stream.id, ErrorCode.cancel));
      this.#responses.lose(stream, stopping);
    }
  }

  /** The kubelet has seen the announcement: it opens no more streams, so the last one is known. */
  #finishDrain(): void {
    this.#drain = 'final';
    this.#requests.acceptNoMore();
    this.#link.toKubelet.send(formatGoaway(this.#requests.lastStreamId, ErrorCode.none));
    this.#closeWhenDone();
  }

  #closeWhenDone(): void {
    if (this.#link.streams.size > 0) return;
    if (this.#offline !== undefined && (this.#isOutdated || this.#drain !== 'no') && !this.#isCutOff) {
      // Calls that the kubelet makes meanwhile count as not worked on, and are made again elsewhere.
      this.#link.toKubelet.send(formatGoaway(this.#offline.lastStreamId, ErrorCode.none));
      this.#closeKubelet();
    } else if (this.#drain === 'final' || this.#isCutOff) {
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
    this.#link.toKubelet.flush();
    this.kubelet.end();
    this.kubelet.resume();
    const timer = setTimeout(() => this.kubelet.destroy(), CLOSE_TIMEOUT_MS);
    this.kubelet.once('close', () => clearTimeout(timer));
  }

  #loseRuntime(): void {
    if (this.#offline !== undefined || this.kubelet.destroyed) return;
    this.#goOffline();
    this.onRuntimeGone();
    this.#endTurn();
  }

  #goOffline(): void {
    const { toKubelet, streams } = this.#link;
    this.#offline = new OfflineResponder(toKubelet, this.#requests.lastStreamId);
    this.#control.answerOpen();
    for (const stream of [...streams.values()]) {
      this.#responses.lose(stream, stream.hold === undefined ? runtimeLost : runtimeUnavailable);
    }
    this.#closeWhenDone();
  }

  #failKubelet(err: unknown): void {
    this.#report('the kubelet side broke the protocol', err);
    const code = err instanceof ConnectionError ? err.code : ErrorCode.internal;
    this.#link.toKubelet.send(formatGoaway(this.#requests.lastStreamId, code));
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
    for (const stream of [...this.#link.streams.values()]) {
      this.#responses.drop(stream);
      this.#requests.end(stream);
      stream.call?.endByCaller();
    }
    this.runtime?.destroy();
    this.#onClosed();
  }

  #endTurn(): void {
    const { toKubelet, toRuntime } = this.#link;
    this.#requests.creditKubelet();
    toKubelet.flush();
    toRuntime.flush();
    if (this.#isClosing) return;
    setReading(this.kubelet, !toRuntime.isFull && toKubelet.bufferedBytes < MAX_BUFFERED_BYTES);
    if (this.runtime !== undefined)
      setReading(this.runtime, !toKubelet.isFull && this.#responses.pendingBytes < MAX_BUFFERED_BYTES);
  }
}

function setReading(socket: Socket, wanted: boolean): void {
  if (wanted !== socket.isPaused()) return;
  if (wanted) socket.resume();
  else socket.pause();
}

function interrupted(): ConnectionError {
  return new ConnectionError(ErrorCode.protocol, 'a header block is interrupted');
}
