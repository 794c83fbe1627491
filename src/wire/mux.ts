import type { Duplex } from 'node:stream';

import type { ByteChannel, CloseReason } from './channel';
import { FrameDecoder, FrameError } from './frame';
import { MuxChannel } from './mux-channel';
import { SocketChannel, type SocketChannelOptions } from './socket-channel';

/** Limits of a mux. */
export interface MuxOptions extends SocketChannelOptions {
  /** Longest frame that is accepted from the peer. Default 16 MiB, the most that any release of NRI writes. */
  readonly maxFrameBytes?: number | undefined;
}

/**
 * Carries several byte streams over one socket, in the frames of NRI. It owns the socket: `close` ends the socket,
 * while the end of a channel does not.
 *
 * The format has no open, no close and no flow control: a connection exists when both sides know its id, and a receiver
 * that pauses holds up the whole socket. Frames of connections that are not open are dropped and counted.
 */
export class Mux {
  /** Resolves with the reason when the socket is closed; never rejects. */
  readonly closed: Promise<CloseReason>;
  private readonly socket: SocketChannel;
  private readonly decoder: FrameDecoder;
  private readonly channels = new Map<number, MuxChannel>();
  /** The channel of the frame that is being read; undefined when it is not open. */
  private current: MuxChannel | undefined;
  /** The part of a chunk that is not delivered yet. While there is one, the socket is not read. */
  private rest: { readonly chunk: Buffer; readonly at: number; readonly end: number } | undefined;
  private decoding = false;
  private reason: CloseReason | undefined;
  private dropped = 0;

  constructor(socket: Duplex, options: MuxOptions = {}) {
    this.decoder = new FrameDecoder(
      {
        onFrame: (connectionId) => {
          this.current = this.channels.get(connectionId);
          if (!this.current) this.dropped++;
        },
        onPayload: (chunk, start, end) => this.current?.deliver(chunk, start, end) ?? true,
      },
      options.maxFrameBytes ?? 16 << 20,
    );
    this.socket = new SocketChannel(socket, options);
    this.closed = this.socket.closed.then((reason) => this.reason ?? reason);
    this.socket.receive({
      onBytes: (chunk, start, end) => this.decode(chunk, start, end),
      onDrain: () => {
        for (const channel of this.channels.values()) channel.drained();
      },
      onClose: (reason) => this.end(reason),
    });
  }

  /** Number of frames that belonged to no open connection. */
  get droppedFrames(): number {
    return this.dropped;
  }

  /**
   * Opens one of the connections that both sides know by their id. An id can be opened once: bytes for the first
   * opening could not be distinguished from those for a second.
   *
   * Throws RangeError for an id that is no unsigned 32-bit number or is 0, and Error for one that was opened before.
   */
  open(connectionId: number): ByteChannel {
    if (!Number.isInteger(connectionId) || connectionId < 1 || connectionId > 0xffffffff) {
      throw new RangeError(`${connectionId} is no connection id; 0 is reserved, the rest is an unsigned 32-bit number`);
    }
    if (this.channels.has(connectionId)) throw new Error(`connection ${connectionId} was opened before`);
    const channel = new MuxChannel(connectionId, this.socket, () => this.resumeDecoding());
    this.channels.set(connectionId, channel);
    if (this.reason) channel.end(this.reason);
    return channel;
  }

  /** Closes the socket and every connection, after what was sent has gone out. Closing twice is harmless. */
  close(because: string): void {
    this.socket.close(because);
  }

  private decode(chunk: Buffer, start: number, end: number): void {
    this.decoding = true;
    try {
      const at = this.decoder.feed(chunk, start, end);
      const isHeld = at < end && !this.reason;
      if (isHeld) this.socket.pause();
      else if (this.rest) this.socket.resume();
      this.rest = isHeld ? { chunk, at, end } : undefined;
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.socket.fail(error.message);
    } finally {
      this.decoding = false;
    }
  }

  private resumeDecoding(): void {
    if (this.rest && !this.decoding) this.decode(this.rest.chunk, this.rest.at, this.rest.end);
  }

  private end(reason: CloseReason): void {
    const isTruncated = reason.by === 'peer' && !this.decoder.isBetweenFrames;
    this.reason = isTruncated ? { ...reason, because: `${reason.because} in the middle of a frame` } : reason;
    this.rest = undefined;
    for (const channel of this.channels.values()) channel.end(this.reason);
  }
}
