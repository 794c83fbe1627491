import { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';

const [DATA, ERROR] = [0, 1];

/** The subprotocol: each message begins with the number of its channel. */
export const CHANNEL_PROTOCOL = 'v4.channel.k8s.io';

/**
 * The bytes of one forwarded port, over a WebSocket with that subprotocol. Channel 0 has the data, channel 1 a text for
 * an error; each begins with the number of the port in two bytes.
 */
export class ChannelSocket extends Duplex {
  private readonly opened = new Set<number>();

  /** @param socket it is paused, and has passed on no message yet */
  constructor(private readonly socket: WebSocket) {
    super();
    socket.on('message', (message) => this.takeMessage(message));
    socket.once('close', () => this.push(null));
    socket.on('error', (error) => this.destroy(error));
  }

  override _read(): void {
    this.socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.socket.send(Buffer.concat([Buffer.of(DATA), chunk]), done);
  }

  /** The other end is left open: it closes when it has answered. */
  override _final(done: (error?: Error | null) => void): void {
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.socket.terminate();
    done(error);
  }

  private takeMessage(message: Buffer): void {
    if (message.length === 0) return;
    const channel = message[0]!;
    // The first message of a channel begins with the port.
    const content = message.subarray(this.opened.has(channel) ? 1 : 3);
    this.opened.add(channel);
    if (content.length === 0) return;
    if (channel === DATA && !this.push(content)) this.socket.pause();
    if (channel === ERROR) this.destroy(new Error(content.toString('utf8').slice(0, 500)));
  }
}
