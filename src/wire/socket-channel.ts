import type { Duplex } from 'node:stream';

import type { ByteChannel, CloseReason, Receiver } from './channel';

/** Limits of a channel. */
export interface SocketChannelOptions {
  /** Bytes that the peer may leave unread before the connection is closed. Default: 16 MiB. */
  readonly maxQueuedBytes?: number | undefined;
  /** Time after close() in which the peer may read the rest, in ms. Default: 1000. */
  readonly lingerMs?: number | undefined;
}

/** A channel that has a socket for itself. It owns the socket: the end of the channel closes it. */
export class SocketChannel implements ByteChannel {
  readonly headroom = 0;
  readonly maxQueuedBytes: number;
  readonly closed: Promise<CloseReason>;
  private readonly lingerMs: number;
  private receiver: Receiver | undefined;
  private reason: CloseReason | undefined;
  private linger: NodeJS.Timeout | undefined;

  constructor(
    private readonly socket: Duplex,
    options: SocketChannelOptions = {},
  ) {
    this.maxQueuedBytes = options.maxQueuedBytes ?? 16 << 20;
    this.lingerMs = options.lingerMs ?? 1000;
    const peerClosed: CloseReason = { by: 'peer', because: 'the peer closed the connection' };
    socket.on('drain', () => this.receiver?.onDrain());
    socket.on('end', () => this.end(peerClosed));
    socket.on('error', (error) => this.end(describeSocketError(error)));
    this.closed = new Promise((resolve) => {
      const settle = (): void => {
        clearTimeout(this.linger);
        resolve(this.end(peerClosed));
      };
      if (socket.destroyed) settle();
      else socket.once('close', settle);
    });
  }

  get queuedBytes(): number {
    return this.socket.writableLength;
  }

  receive(receiver: Receiver): void {
    if (this.receiver) throw new Error('a channel has one receiver');
    this.receiver = receiver;
    if (this.reason) {
      receiver.onClose(this.reason);
      return;
    }
    this.socket.on('data', (chunk: Buffer) => {
      if (this.reason) return;
      try {
        receiver.onBytes(chunk, 0, chunk.length);
      } catch (error) {
        // The position in the stream of bytes is lost: only another connection can begin anew.
        this.fail(`a fault of ours in reading: ${error instanceof Error ? error.message : String(error)}`);
      }
    });
  }

  send(packet: Buffer): void {
    if (this.reason || !this.enforceQueueLimit(packet.length)) return;
    this.socket.write(packet);
  }

  /** Sends the parts of one message back to back, in one system call where the kernel takes them. */
  sendParts(parts: readonly Buffer[]): void {
    if (this.reason || !this.enforceQueueLimit(parts.reduce((sum, part) => sum + part.length, 0))) return;
    this.socket.cork();
    for (const part of parts) this.socket.write(part);
    this.socket.uncork();
  }

  pause(): void {
    if (!this.reason) this.socket.pause();
  }

  resume(): void {
    if (this.receiver) this.socket.resume();
  }

  close(because: string): void {
    this.end({ by: 'us', because });
  }

  /** Ends a connection that can't be trusted any more. */
  fail(because: string): void {
    this.end({ by: 'fault', because });
  }

  /** Returns false, and ends the connection, when the peer has left too much unread. */
  private enforceQueueLimit(bytes: number): boolean {
    const queued = this.socket.writableLength;
    if (queued === 0 || queued + bytes <= this.maxQueuedBytes) return true;
    this.fail(`the peer has left ${queued} bytes unread`);
    return false;
  }

  private end(reason: CloseReason): CloseReason {
    if (this.reason) return this.reason;
    this.reason = reason;
    const { socket } = this;
    if (reason.by !== 'us' || socket.writableLength === 0) {
      socket.destroy();
    } else {
      this.linger = setTimeout(() => socket.destroy(), this.lingerMs);
      socket.end(() => socket.destroy());
      socket.resume();
    }
    this.receiver?.onClose(reason);
    return reason;
  }
}

const PEER_LEFT_CODES = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED']);

/** Turns an error of Node's sockets into the reason of the end: the peer closed the connection, or a fault. */
export function describeSocketError(error: Error): CloseReason {
  const code = (error as NodeJS.ErrnoException).code ?? error.name;
  return PEER_LEFT_CODES.has(code)
    ? { by: 'peer', because: `the peer went away (${code})`, cause: error }
    : { by: 'fault', because: `the socket failed (${code})`, cause: error };
}
