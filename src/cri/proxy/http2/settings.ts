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

/** Upper bounds of what one peer may ask the other to send us: they bound our own memory. */
const MAX_FRAME_BYTES = 65_536;
const MAX_REQUEST_TABLE_BYTES = 65_536;
export const MAX_CONCURRENT_STREAMS = 8_192;

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

/**
 * The kubelet's settings as the runtime gets to see them. A header table of 0 makes every header block of the runtime
 * readable by itself (RFC 7541 §4.2): so a block may be read, dropped, or one of ours put in, without HPACK state to keep.
 */
export function limitSettingsTowardsRuntime(settings: Settings): Settings {
  return limitFrameBytes(new Map(settings).set(Setting.headerTableBytes, 0));
}

/** The runtime's settings as the kubelet gets to see them. */
export function limitSettingsTowardsKubelet(settings: Settings, isFirst: boolean): Settings {
  const limited = limitFrameBytes(new Map(settings));
  const table = settings.get(Setting.headerTableBytes);
  if (table !== undefined) limited.set(Setting.headerTableBytes, Math.min(table, MAX_REQUEST_TABLE_BYTES));
  const streams = settings.get(Setting.maxConcurrentStreams) ?? (isFirst ? Infinity : undefined);
  if (streams !== undefined) limited.set(Setting.maxConcurrentStreams, Math.min(streams, MAX_CONCURRENT_STREAMS));
  return limited;
}

function limitFrameBytes(settings: Settings): Settings {
  const frameBytes = settings.get(Setting.maxFrameBytes);
  if (frameBytes !== undefined) settings.set(Setting.maxFrameBytes, Math.min(frameBytes, MAX_FRAME_BYTES));
  return settings;
}
