import { createHash } from 'node:crypto';
import { createServer, type Server, type Socket } from 'node:net';
import {
  DEFAULT_WINDOW_BYTES,
  Flag,
  formatFrame,
  formatWindowUpdate,
  FrameType,
  hasFlag,
  payloadLength,
  readContent,
  type Frame,
} from '../../../src/cri/proxy/http2/frame';
import { FrameReader } from '../../../src/cri/proxy/http2/frame-reader';
import { HpackDecoder } from '../../../src/cri/proxy/http2/hpack-decoder';
import { encodeHeaders } from '../../../src/cri/proxy/http2/hpack-encoder';
import { formatSettings } from '../../../src/cri/proxy/http2/settings';

/**
 * A runtime that counts its windows to the byte (nghttp2 in Node forgives a connection's window) and credits late: it
 * answers each call with the digest of its request, and records every byte too many and every unexpected frame.
 */
export function startStrictRuntime(path: string, initialWindowBytes: number): { server: Server; violations: string[] } {
  const violations: string[] = [];
  const server = createServer((socket) => new StrictConnection(socket, initialWindowBytes, violations)).listen(path);
  return { server, violations };
}

class StrictConnection {
  private readonly reader = new FrameReader({ expectPreface: true });
  private readonly decoder = new HpackDecoder();
  private readonly open = new Map<number, { window: number; readonly chunks: Buffer[] }>();
  private window = DEFAULT_WINDOW_BYTES;
  private lastStreamId = 0;
  private turn = 0;

  constructor(
    readonly socket: Socket,
    readonly initialWindowBytes: number,
    readonly violations: string[],
  ) {
    socket.write(formatSettings(new Map([[4, initialWindowBytes]])));
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      try {
        this.reader.feed(chunk, (frame) => this.take(frame));
      } catch (err) {
        violations.push(String(err));
      }
    });
  }

  private take(frame: Frame): void {
    if (frame.type === FrameType.settings && !hasFlag(frame, Flag.ack))
      this.socket.write(formatFrame(FrameType.settings, Flag.ack, 0, new Uint8Array()));
    if (frame.type === FrameType.headers) this.takeHeaders(frame);
    if (frame.type === FrameType.data) this.takeData(frame);
    if (frame.type === FrameType.rstStream) this.open.delete(frame.streamId);
  }

  private takeHeaders(frame: Frame): void {
    this.decoder.decode(readContent(frame));
    if (frame.streamId <= this.lastStreamId) this.violations.push(`stream ${frame.streamId} again`);
    this.lastStreamId = frame.streamId;
    this.open.set(frame.streamId, { window: this.initialWindowBytes, chunks: [] });
  }

  private takeData(frame: Frame): void {
    const bytes = payloadLength(frame);
    const stream = this.open.get(frame.streamId);
    this.window -= bytes;
    if (this.window < 0) this.violations.push(`${-this.window} bytes beyond the connection's window`);
    this.creditLater(0, bytes, () => (this.window += bytes));
    if (stream === undefined) return;
    stream.window -= bytes;
    if (stream.window < 0)
      this.violations.push(`${-stream.window} bytes beyond the window of stream ${frame.streamId}`);
    stream.chunks.push(Buffer.from(readContent(frame)));
    if (hasFlag(frame, Flag.endStream)) this.answer(frame.streamId, Buffer.concat(stream.chunks));
    else this.creditLater(frame.streamId, bytes, () => (stream.window += bytes));
  }

  private creditLater(streamId: number, bytes: number, count: () => void): void {
    if (bytes === 0) return;
    setTimeout(() => {
      if (streamId > 0 && !this.open.has(streamId)) return;
      count();
      this.socket.write(formatWindowUpdate(streamId, bytes));
    }, this.turn++ % 4);
  }

  private answer(streamId: number, request: Buffer): void {
    this.open.delete(streamId);
    const fields = [
      [':status', '200'],
      ['content-type', 'application/grpc'],
      ['x-digest', createHash('sha256').update(request).digest('hex')],
    ] as const;
    this.socket.write(formatFrame(FrameType.headers, Flag.endHeaders, streamId, encodeHeaders(fields)));
    this.socket.write(formatFrame(FrameType.data, 0, streamId, Buffer.from([0, 0, 0, 0, 2, 1, 2])));
    this.socket.write(
      formatFrame(FrameType.headers, Flag.endHeaders | Flag.endStream, streamId, encodeHeaders([['grpc-status', '0']])),
    );
  }
}
