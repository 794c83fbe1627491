import type { ByteChannel, CloseReason } from './channel';
import { decodeRequest, encodeFailure, encodeSuccess } from './envelope';
import { MessageDecoder, MessageType } from './message';
import { DecodeError } from './protobuf';
import { ServerCall, type TtrpcRequest } from './server-call';
import { StatusCode, TtrpcError } from './status';

/**
 * Answers one method with the bytes of the response. A {@link TtrpcError} that it throws is sent with its code and
 * message, any other error as INTERNAL without its text. The answer of a synchronous handler is sent in the same turn
 * of the event loop.
 */
export type TtrpcHandler = (request: TtrpcRequest) => Uint8Array | Promise<Uint8Array>;

/** Handlers by the full name of the service and the name of the method. */
export type TtrpcHandlers = Readonly<Record<string, Readonly<Record<string, TtrpcHandler>>>>;

/** Limits of a server. */
export interface TtrpcServerOptions {
  /** Maximum data of a request, in bytes. Default: 64 MiB, since old runtimes send more than the protocol's 4 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /** Maximum calls that wait for their handlers; beyond it the channel is not read. Default: 128. */
  readonly maxOpenCalls?: number | undefined;
  /** Maximum bytes of requests that wait for their handlers; beyond it the channel is not read. Default: 64 MiB. */
  readonly maxOpenBytes?: number | undefined;
  /** Receives the errors that the caller sees as INTERNAL only. */
  readonly onHandlerError?: ((error: unknown, request: TtrpcRequest) => void) | undefined;
}

/** Answers unary ttrpc calls of a channel, any number at a time. It ends with the channel. */
export class TtrpcServer {
  private readonly methods: ReadonlyMap<string, ReadonlyMap<string, TtrpcHandler>>;
  private readonly openCalls = new Set<ServerCall>();
  private readonly maxOpenCalls: number;
  private readonly maxOpenBytes: number;
  private openBytes = 0;
  private isPaused = false;
  private lastStreamId = 0;
  private reason: CloseReason | undefined;

  constructor(
    private readonly channel: ByteChannel,
    handlers: TtrpcHandlers,
    private readonly options: TtrpcServerOptions = {},
  ) {
    this.methods = new Map(
      Object.entries(handlers).map(([service, methods]) => [service, new Map(Object.entries(methods))]),
    );
    this.maxOpenCalls = options.maxOpenCalls ?? 128;
    this.maxOpenBytes = options.maxOpenBytes ?? 64 << 20;
    const decoder = new MessageDecoder(
      {
        onMessage: (type, streamId, data, start, end) => {
          if (type === MessageType.request) this.answer(streamId, data, start, end);
        },
        onOversized: (type, streamId, length) => {
          if (type !== MessageType.request || !this.acceptStream(streamId)) return;
          this.sendFailure(streamId, StatusCode.RESOURCE_EXHAUSTED, `a request of ${length} bytes is not accepted`);
        },
      },
      options.maxMessageBytes ?? 64 << 20,
    );
    channel.receive({
      onBytes: (chunk, start, end) => {
        decoder.feed(chunk, start, end);
        this.adjustReading();
      },
      onDrain: () => this.adjustReading(),
      onClose: (reason) => this.end(reason),
    });
  }

  private answer(streamId: number, data: Buffer, start: number, end: number): void {
    if (this.reason || !this.acceptStream(streamId)) return;
    let call: ServerCall;
    try {
      call = new ServerCall(streamId, decodeRequest(data, start, end));
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      this.sendFailure(streamId, StatusCode.INVALID_ARGUMENT, `the request is no ttrpc.Request: ${error.message}`);
      return;
    }
    const methods = this.methods.get(call.service);
    const handler = methods?.get(call.method);
    if (!handler) {
      const what = methods ? `method ${quote(call.method)}` : `service ${quote(call.service)}`;
      this.sendFailure(streamId, StatusCode.UNIMPLEMENTED, `${what} is not implemented`);
    } else if (call.isExpired) {
      this.sendFailure(streamId, StatusCode.DEADLINE_EXCEEDED, 'the deadline had passed before the call was read');
    } else {
      this.run(call, handler);
    }
  }

  /** Ids of new streams are odd and grow. Another id is refused, and the connection goes on. */
  private acceptStream(streamId: number): boolean {
    if (streamId % 2 === 1 && streamId > this.lastStreamId) {
      this.lastStreamId = streamId;
      return true;
    }
    this.sendFailure(streamId, StatusCode.INVALID_ARGUMENT, 'stream ids must be odd and grow with every request');
    return false;
  }

  private run(call: ServerCall, handler: TtrpcHandler): void {
    let result: Uint8Array | Promise<Uint8Array>;
    try {
      result = handler(call);
    } catch (error) {
      this.fail(call, error);
      return;
    }
    if (result instanceof Uint8Array) this.succeed(call, result);
    else this.wait(call, result);
  }

  private wait(call: ServerCall, result: Promise<Uint8Array>): void {
    this.openCalls.add(call);
    this.openBytes += call.payload.length;
    call.startDeadline((error) => this.sendFailure(call.streamId, error.code, error.message));
    // A call past its deadline counts until its handler is done: its request is still in memory.
    const leave = (): void => {
      this.openCalls.delete(call);
      this.openBytes -= call.payload.length;
      this.adjustReading();
    };
    Promise.resolve(result)
      .then(
        (payload) => this.succeed(call, payload),
        (error: unknown) => this.fail(call, error),
      )
      .finally(leave);
  }

  private succeed(call: ServerCall, payload: Uint8Array): void {
    if (!call.settle() || this.reason) return;
    let packet: Buffer;
    try {
      packet = encodeSuccess(this.channel.headroom, call.streamId, payload);
    } catch (error) {
      this.sendError(call, error);
      return;
    }
    this.channel.send(packet);
  }

  private fail(call: ServerCall, error: unknown): void {
    if (call.settle()) this.sendError(call, error);
  }

  private sendError(call: ServerCall, error: unknown): void {
    if (error instanceof TtrpcError) {
      this.sendFailure(call.streamId, error.code, error.message);
      return;
    }
    this.sendFailure(call.streamId, StatusCode.INTERNAL, 'internal error');
    this.options.onHandlerError?.(error, call);
  }

  private sendFailure(streamId: number, code: number, message: string): void {
    if (this.reason) return;
    this.channel.send(encodeFailure(this.channel.headroom, streamId, code, message.slice(0, MAX_ERROR_TEXT)));
  }

  /** Reads on only while the handlers and the peer keep up. */
  private adjustReading(): void {
    const isBehind =
      this.openCalls.size >= this.maxOpenCalls ||
      this.openBytes > this.maxOpenBytes ||
      this.channel.queuedBytes > this.channel.maxQueuedBytes / 2;
    if (isBehind === this.isPaused || this.reason) return;
    this.isPaused = isBehind;
    if (isBehind) this.channel.pause();
    else this.channel.resume();
  }

  private end(reason: CloseReason): void {
    this.reason = reason;
    const error = new TtrpcError(StatusCode.UNAVAILABLE, `the connection is closed: ${reason.because}`);
    for (const call of this.openCalls) call.abort(error);
  }
}

/** Maximum characters of an error's text that are sent. */
const MAX_ERROR_TEXT = 4096;

function quote(name: string): string {
  return JSON.stringify(name.slice(0, 100));
}
