import {
  ConnectionError,
  DEFAULT_WINDOW_BYTES,
  ErrorCode,
  FRAME_HEAD_BYTES,
  FrameType,
  allocFrame,
  payloadLength,
  type Frame,
} from './frame';

export const Setting = {
  headerTableBytes: 1,
  maxConcurrentStreams: 3,
  initialWindowBytes: 4,
  maxFrameBytes: 5,
} as const;

/** A peer's SETTINGS in the order sent; later values win. */
export type Settings = Map<number, number>;

/** Reads a SETTINGS frame (not an acknowledgement). Throws ConnectionError on a broken one. */
export function parseSettings(frame: Frame): Settings {
  const length = payloadLength(frame);
  if (length % 6 !== 0 || frame.streamId !== 0)
    throw new ConnectionError(ErrorCode.frameSize, 'a broken SETTINGS frame');
  const settings: Settings = new Map();
  for (let at = frame.start + FRAME_HEAD_BYTES; at < frame.end; at += 6) {
    settings.set(frame.buffer.readUInt16BE(at), frame.buffer.readUInt32BE(at + 2));
  }
  if ((settings.get(Setting.initialWindowBytes) ?? DEFAULT_WINDOW_BYTES) > 0x7fffffff) {
    throw new ConnectionError(ErrorCode.flowControl, 'an initial window beyond 2^31-1');
  }
  return settings;
}

/** A SETTINGS frame with these values. */
export function formatSettings(settings: Settings): Buffer {
  const bytes = allocFrame(FrameType.settings, 0, 0, settings.size * 6);
  let at = FRAME_HEAD_BYTES;
  for (const [id, value] of settings) {
    bytes.writeUInt16BE(id, at);
    bytes.writeUInt32BE(value, at + 2);
    at += 6;
  }
  return bytes;
}
