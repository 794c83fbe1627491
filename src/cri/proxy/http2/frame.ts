/** An HTTP/2 frame (RFC 9113 §4, §6): a head of 9 bytes and a payload. */
export interface Frame {
  readonly type: number;
  readonly flags: number;
  /** 0 = the connection itself. */
  readonly streamId: number;
  /** The bytes that hold the frame: head from `start`, payload from `start + FRAME_HEAD_BYTES` up to `end`. */
  readonly buffer: Buffer;
  readonly start: number;
  readonly end: number;
}

export const FRAME_HEAD_BYTES = 9;
/** Every peer accepts payloads of this size (RFC 9113 §6.5.2). */
export const DEFAULT_MAX_FRAME_BYTES = 16_384;
export const DEFAULT_WINDOW_BYTES = 65_535;
export const CLIENT_PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

export const FrameType = {
  data: 0,
  headers: 1,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const Flag = { endStream: 0x1, ack: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const;

export const ErrorCode = {
  none: 0,
  protocol: 1,
  internal: 2,
  flowControl: 3,
  frameSize: 6,
  refusedStream: 7,
  cancel: 8,
  compression: 9,
  enhanceYourCalm: 11,
  inadequateSecurity: 12,
} as const;

/** A peer broke the protocol in a way that ends its connection; `code` is the HTTP/2 error code for GOAWAY. */
export class ConnectionError extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
    this.name = 'ConnectionError';
  }
}

/** True when the frame carries `flag`. */
export function hasFlag(frame: Frame, flag: number): boolean {
  return (frame.flags & flag) !== 0;
}

/** Length of a frame's payload in bytes, padding included: what flow control counts for DATA. */
export function payloadLength(frame: Frame): number {
  return frame.end - frame.start - FRAME_HEAD_BYTES;
}

/**
 * The payload of a DATA or HEADERS frame without padding and priority fields. Throws ConnectionError when they do not
 * fit.
 */
export function readContent(frame: Frame): Buffer {
  let from = frame.start + FRAME_HEAD_BYTES;
  let to = frame.end;
  if (hasFlag(frame, Flag.padded)) {
    to -= from < to ? frame.buffer[from]! : 0;
    from += 1;
  }
  if (frame.type === FrameType.headers && hasFlag(frame, Flag.priority)) from += 5;
  if (from > to) throw new ConnectionError(ErrorCode.protocol, 'padding is longer than the frame');
  return frame.buffer.subarray(from, to);
}

/** Throws ConnectionError when padding and priority fields of a DATA or HEADERS frame do not fit into it. */
export function checkContent(frame: Frame): void {
  if ((frame.flags & (Flag.padded | Flag.priority)) !== 0) readContent(frame);
}

/**
 * A 31-bit number at `offset` of the payload: a stream id or a window increment. Throws ConnectionError when it is cut
 * off.
 */
export function readUInt31(frame: Frame, offset: number): number {
  if (payloadLength(frame) < offset + 4)
    throw new ConnectionError(ErrorCode.frameSize, 'a frame is too short for its type');
  return frame.buffer.readUInt32BE(frame.start + FRAME_HEAD_BYTES + offset) & 0x7fffffff;
}

/** A new frame with the head and a payload of `payloadBytes` zeros. */
export function allocFrame(type: number, flags: number, streamId: number, payloadBytes: number): Buffer {
  const bytes = Buffer.alloc(FRAME_HEAD_BYTES + payloadBytes);
  bytes.writeUIntBE(payloadBytes, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE(streamId, 5);
  return bytes;
}

/** A frame whose payload is `payload`, copied. */
export function formatFrame(type: number, flags: number, streamId: number, payload: Uint8Array): Buffer {
  const bytes = allocFrame(type, flags, streamId, payload.length);
  bytes.set(payload, FRAME_HEAD_BYTES);
  return bytes;
}

/** WINDOW_UPDATE: the receiver may send `increment` (1 to 2^31-1) more bytes of DATA. */
export function formatWindowUpdate(streamId: number, increment: number): Buffer {
  const bytes = allocFrame(FrameType.windowUpdate, 0, streamId, 4);
  bytes.writeUInt32BE(increment, FRAME_HEAD_BYTES);
  return bytes;
}

/** RST_STREAM with an HTTP/2 error code. */
export function formatRstStream(streamId: number, code: number): Buffer {
  const bytes = allocFrame(FrameType.rstStream, 0, streamId, 4);
  bytes.writeUInt32BE(code, FRAME_HEAD_BYTES);
  return bytes;
}

/** PING, or its answer, with 8 opaque bytes. */
export function formatPing(opaque: Uint8Array, ack: boolean): Buffer {
  return formatFrame(FrameType.ping, ack ? Flag.ack : 0, 0, opaque);
}

/** GOAWAY: streams above `lastStreamId` were not and will not be worked on. */
export function formatGoaway(lastStreamId: number, code: number): Buffer {
  const bytes = allocFrame(FrameType.goaway, 0, 0, 8);
  bytes.writeUInt32BE(lastStreamId, FRAME_HEAD_BYTES);
  bytes.writeUInt32BE(code, FRAME_HEAD_BYTES + 4);
  return bytes;
}
