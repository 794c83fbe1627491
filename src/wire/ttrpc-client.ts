import type { ByteChannel, CloseReason } from './channel';
import { decodeResponse, encodeRequest, type KeyValue, type ResponseEnvelope } from './envelope';
import { MessageDecoder, MessageType } from './message';
import { startTimer } from './start-timer';
import { StatusCode, TtrpcError } from './status';

/** Limits of a client. */
export interface TtrpcClientOptions {
  /** Maximum data of a response, in bytes. Default: 64 MiB, since old runtimes send more than the protocol's 4 MiB. */
  readonly maxMessageBytes?: number | undefined;
}

/** Options of one call. */
export interface CallOptions {
  /** Deadline of the call in ms, which is sent to the server as well. Default: none. */
  readonly timeoutMs?: number | undefined;
  /** Rejects the call. The server does not learn of it: ttrpc has no message for that. */
  readonly signal?: AbortSignal | undefined;
  /** Sent with the request. Default: none. */
  readonly metadata?: readonly KeyValue[] | undefined;
}

interface PendingCall {
  readonly resolve: (payload: Uint8Array) => void;
  readonly reject: (error: TtrpcError) => void;
  readonly release: () => void;
}

const MAX_STREAM_ID = 0xffffffff;

/** Calls a ttrpc server over a channel; any number of unary calls at a time. */
export class TtrpcClient {
  private readonly pending = new Map<number, PendingCall>();
  private nextStreamId = 1;
  private reason: CloseReason | undefined;

  constructor(
    private readonly channel: ByteChannel,
    options: TtrpcClientOptions = {},
  ) {
    const decoder = new MessageDecoder(
      {
        onMessage: (type, streamId, data, start, end) => {
          const call = this.take(type, streamId);
          if (call) settleCall(call, data, start, end);
        },
        onOversized: (type, streamId, length) => {
          const because = `the response has ${length} bytes, more than is accepted`;
          this.take(type, streamId)?.reject(new TtrpcError(StatusCode.RESOURCE_EXHAUSTED, because));
        },
      },
      options.maxMessageBytes ?? 64 << 20,
    );
    channel.receive({
      onBytes: (chunk, start, end) => decoder.feed(chunk, start, end),
      onDrain: () => undefined,
      onClose: (reason) => this.end(reason),
    });
  }

  /** Resolves with the reason when the channel has ended; never rejects. */
  get closed(): Promise<CloseReason> {
    return this.channel.closed;
  }

  /**
   * Calls a method, named by its service's full name and its own, and resolves with the response's bytes.
   *
   * Rejects with {@link TtrpcError}: the server's status as it is; DEADLINE_EXCEEDED and CANCELLED after `timeoutMs`
   * and `signal`; RESOURCE_EXHAUSTED, without sending, for a message above 4 MiB and while the peer reads too slowly;
   * UNAVAILABLE when the channel is or becomes closed; INTERNAL for a response that is not understood.
   */
  call(service: string, method: string, payload: Uint8Array, options: CallOptions = {}): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const { timeoutMs, signal, metadata = [] } = options;
      this.refuseEarly(timeoutMs, signal);
      const streamId = this.nextStreamId;
      const timeoutNano = timeoutMs === undefined ? 0 : Math.max(1, Math.round(timeoutMs * 1e6));
      const packet = encodeRequest(this.channel.headroom, streamId, {
        service,
        method,
        payload,
        timeoutNano,
        metadata,
      });
      const { queuedBytes, maxQueuedBytes } = this.channel;
      if (queuedBytes > 0 && queuedBytes + packet.length > maxQueuedBytes / 2) {
        throw new TtrpcError(StatusCode.RESOURCE_EXHAUSTED, `the peer has left ${queuedBytes} bytes unread`);
      }
      this.nextStreamId += 2;

      const giveUp = (code: number, because: string): void => {
        this.take(MessageType.response, streamId)?.reject(new TtrpcError(code, because));
      };
      const expire = (): void => giveUp(StatusCode.DEADLINE_EXCEEDED, `no answer within ${timeoutMs ?? 0} ms`);
      const cancel = (): void => giveUp(StatusCode.CANCELLED, 'the caller cancelled the call');
      const timer = startTimer(timeoutMs, expire);
      signal?.addEventListener('abort', cancel, { once: true });
      const release = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', cancel);
      };
      this.pending.set(streamId, { resolve, reject, release });
      this.channel.send(packet);
    });
  }

  /** Ends the channel; calls that wait are rejected with UNAVAILABLE. */
  close(because: string): void {
    this.channel.close(because);
  }

  private refuseEarly(timeoutMs: number | undefined, signal: AbortSignal | undefined): void {
    if (this.reason) throw unavailable(this.reason);
    if (signal?.aborted) throw new TtrpcError(StatusCode.CANCELLED, 'the caller cancelled the call');
    if (timeoutMs !== undefined && !(timeoutMs > 0)) {
      throw new TtrpcError(StatusCode.DEADLINE_EXCEEDED, 'the deadline had passed before the call');
    }
    if (this.nextStreamId > MAX_STREAM_ID) {
      throw new TtrpcError(StatusCode.UNAVAILABLE, 'all stream ids of this connection are used up');
    }
  }

  /**
   * Removes and returns the call that a message answers; undefined for other messages, and for answers that come too
   * late.
   */
  private take(type: number, streamId: number): PendingCall | undefined {
    const call = type === MessageType.response ? this.pending.get(streamId) : undefined;
    if (call) {
      this.pending.delete(streamId);
      call.release();
    }
    return call;
  }

  private end(reason: CloseReason): void {
    this.reason = reason;
    for (const streamId of [...this.pending.keys()]) {
      this.take(MessageType.response, streamId)?.reject(unavailable(reason));
    }
  }
}

function settleCall(call: PendingCall, data: Buffer, start: number, end: number): void {
  let response: ResponseEnvelope;
  try {
    response = decodeResponse(data, start, end);
  } catch (error) {
    call.reject(new TtrpcError(StatusCode.INTERNAL, 'the response is no ttrpc.Response', { cause: error }));
    return;
  }
  if (response.code === StatusCode.OK) call.resolve(response.payload);
  else call.reject(new TtrpcError(response.code, response.message));
}

function unavailable(reason: CloseReason): TtrpcError {
  return new TtrpcError(StatusCode.UNAVAILABLE, `the connection is closed: ${reason.because}`, { cause: reason.cause });
}
