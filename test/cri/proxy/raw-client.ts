import { connect, type Socket } from 'node:net';
import {
  CLIENT_PREFACE,
  Flag,
  FRAME_HEAD_BYTES,
  formatFrame,
  formatPing,
  FrameType,
  hasFlag,
  type Frame,
} from '../../../src/cri/proxy/http2/frame';
import { FrameReader } from '../../../src/cri/proxy/http2/frame-reader';
import { encodeHeaders } from '../../../src/cri/proxy/http2/hpack-encoder';

export const emptySettings = formatFrame(FrameType.settings, 0, 0, new Uint8Array());
/** The preface and SETTINGS of a client. */
export const opening = Buffer.concat([CLIENT_PREFACE, emptySettings]);

/** The HEADERS of a call. */
export function requestHead(
  streamId: number,
  path: string,
  flags = 0,
  more: readonly (readonly [string, string])[] = [],
): Buffer {
  const fields = encodeHeaders([
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', path],
    [':authority', 'localhost'],
    ['content-type', 'application/grpc'],
    ['te', 'trailers'],
    ...more,
  ]);
  return formatFrame(FrameType.headers, Flag.endHeaders | flags, streamId, fields);
}

/** DATA with one message, the last of the request. */
export function requestMessage(streamId: number, message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return formatFrame(FrameType.data, Flag.endStream, streamId, Buffer.concat([prefix, message]));
}

export interface RawClient {
  readonly socket: Socket;
  /** The frames that were received, in order. */
  readonly frames: Frame[];
  readonly closed: Promise<void>;
  /** True when the other side has ended the stream. */
  hasEnded(streamId: number): boolean;
}

/**
 * A connection that sends arbitrary bytes. With `answers` it acknowledges PING and SETTINGS, as every HTTP/2 library
 * does by itself.
 */
export function connectRaw(path: string, { answers = false } = {}): RawClient {
  const frames: Frame[] = [];
  const reader = new FrameReader({ expectPreface: false });
  const socket = connect(path);
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) =>
    reader.feed(chunk, (frame) => {
      frames.push(frame);
      if (!answers || hasFlag(frame, Flag.ack)) return;
      if (frame.type === FrameType.settings)
        socket.write(formatFrame(FrameType.settings, Flag.ack, 0, new Uint8Array()));
      if (frame.type === FrameType.ping)
        socket.write(formatPing(frame.buffer.subarray(frame.start + FRAME_HEAD_BYTES, frame.end), true));
    }),
  );
  const isEnd = ({ type, flags }: Frame): boolean =>
    type === FrameType.rstStream ||
    ((type === FrameType.headers || type === FrameType.data) && (flags & Flag.endStream) !== 0);
  return {
    socket,
    frames,
    closed: new Promise((resolve) => socket.once('close', () => resolve())),
    hasEnded: (streamId) => frames.some((frame) => frame.streamId === streamId && isEnd(frame)),
  };
}
