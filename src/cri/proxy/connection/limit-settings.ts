import { Setting, type Settings } from '../http2/settings';

/** Upper bounds of the sizes that one peer may allow the other: they bound our own memory. */
const MAX_FRAME_BYTES = 65_536;
const MAX_REQUEST_TABLE_BYTES = 65_536;
export const MAX_CONCURRENT_STREAMS = 8_192;

/**
 * Limits the kubelet's settings before they go to the runtime. A header table of 0 makes every header block of the
 * runtime independent (RFC 7541 §4.2): a block can be read or dropped, or one of ours inserted, without HPACK state.
 */
export function limitSettingsTowardsRuntime(settings: Settings): Settings {
  return limitFrameBytes(new Map(settings).set(Setting.headerTableBytes, 0));
}

/** Limits the runtime's settings before they go to the kubelet. */
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
