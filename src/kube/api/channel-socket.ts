import { randomBytes } from 'node:crypto';
import { Duplex } from 'node:stream';

/** Longest frame that is accepted; servers send what fits into their buffer of some KiB. */
const MAX_FRAME_BYTES = 16 * 1024 * 1024;
const [CONTINUATION, BINARY, CLOSE, PING, PONG] = [0x0, 0x2, 0x8, 0x9, 0xa];
const [DATA, ERROR] = [0, 1];

/** The subprotocol: each message begins with the number of its channel. */
export const CHANNEL_PROTOCOL = 'v4.channel.k8s.io';

/**
 * The bytes of one forwarded port, over a connection that was upgraded to a WebSocket (RFC 6455) with that subprotocol. Channel 0 has
 * the data, channel 1 a text for an error; each begins with the number of the port in two bytes.
 */
export class ChannelSocket extends Duplex {
  private unread: Buffer;
  /** The parts of a message so far. */
  private parts: Buffer[] = [];
  private partBytes = 0;
  private readonly opened = new Set<number>();

  /** @param head what came with the answer to the upgrade */
  constructor(
    private readonly connection: Duplex,
    head: Buffer,
  ) {
    super();
    this.unread = Buffer.alloc(0);
    connection.on('data', (chunk: Buffer) => this.receive(chunk));
    connection.once('end', () => this.finish());
    connection.once('close', () => this.finish());
    connection.once('error', (error) => this.destroy(error));
    if (head.length > 0) this.receive(head);
  }

  override _read(): void {
    this.connection.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.connection.write(encodeFrame(BINARY, Buffer.concat([Buffer.of(DATA), chunk])), done);
  }

  /** The other end is left open: it closes when it has answered. */
  override _final(done: (error?: Error | null) => void): void {
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.connection.destroy();
    done(error);
  }

  private finish(): void {
    if (!this.readableEnded && !this.destroyed) this.push(null);
  }

  private receive(chunk: Buffer): void {
    this.unread = this.unread.length === 0 ? chunk : Buffer.concat([this.unread, chunk]);
    for (let frame = readFrame(this.unread); frame && !this.destroyed; frame = readFrame(this.unread)) {
      if (frame === 'too-long') {
        this.destroy(new Error('a WebSocket frame is too long'));
        return;
      }
      this.unread = this.unread.subarray(frame.length);
      this.takeFrame(frame);
    }
  }

  private takeFrame({ opcode, isLast, payload }: Frame): void {
    if (opcode === CLOSE) this.finish();
    if (opcode === PING) this.connection.write(encodeFrame(PONG, payload));
    if (opcode === CLOSE || opcode === PING || opcode === PONG) return;
    if (opcode !== CONTINUATION) [this.parts, this.partBytes] = [[], 0];
    this.parts.push(payload);
    this.partBytes += payload.length;
    if (this.partBytes > MAX_FRAME_BYTES) {
      this.destroy(new Error('a WebSocket message is too long'));
      return;
    }
    if (isLast) this.takeMessage(Buffer.concat(this.parts));
  }

  private takeMessage(message: Buffer): void {
    if (message.length === 0) return;
    const channel = message[0]!;
    // The first message of a channel begins with the port.
    const content = message.subarray(this.opened.has(channel) ? 1 : 3);
    this.opened.add(channel);
    if (content.length === 0) return;
    if (channel === DATA && !this.push(content)) this.connection.pause();
    if (channel === ERROR) this.destroy(new Error(content.toString('utf8').slice(0, 500)));
  }
}

interface Frame {
  readonly opcode: number;
  readonly isLast: boolean;
  readonly payload: Buffer;
  /** Bytes of the whole frame. */
  readonly length: number;
}

/** The first frame in these bytes; undefined while it is not complete. */
function readFrame(bytes: Buffer): Frame | 'too-long' | undefined {
  if (bytes.length < 2) return undefined;
  const [first, second] = [bytes[0]!, bytes[1]!];
  const short = second & 0x7f;
  const headLength = 2 + (short === 126 ? 2 : short === 127 ? 8 : 0);
  if (bytes.length < headLength) return undefined;
  const size = short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
  if (size > MAX_FRAME_BYTES) return 'too-long';
  const isMasked = (second & 0x80) !== 0;
  const start = headLength + (isMasked ? 4 : 0);
  if (bytes.length < start + size) return undefined;
  const payload = Buffer.from(bytes.subarray(start, start + size));
  if (isMasked) mask(payload, bytes.subarray(headLength, start));
  return { opcode: first & 0x0f, isLast: (first & 0x80) !== 0, payload, length: start + size };
}

/** Clients mask what they send. */
function encodeFrame(opcode: number, payload: Buffer): Buffer {
  const length = payload.length;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = 0x80 | opcode;
  head[1] = 0x80 | (length < 126 ? length : length < 65_536 ? 126 : 127);
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  const key = randomBytes(4);
  const masked = Buffer.from(payload);
  mask(masked, key);
  return Buffer.concat([head, key, masked]);
}

function mask(bytes: Buffer, key: Buffer): void {
  for (let i = 0; i < bytes.length; i++) bytes[i]! ^= key[i % 4]!;
}
