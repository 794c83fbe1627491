import {
  ConnectionError,
  ErrorCode,
  Flag,
  FRAME_HEAD_BYTES,
  formatFrame,
  formatPing,
  FrameType,
  hasFlag,
  type Frame,
} from '../http2/frame';
import type { FrameReader } from '../http2/frame-reader';
import { formatSettings, parseSettings, Setting } from '../http2/settings';
import type { ConnectionContext } from './connection-context';
import { limitSettingsTowardsKubelet, limitSettingsTowardsRuntime } from './limit-settings';
import type { RequestPath } from './request-path';

const MAX_OPEN_PINGS = 16;

/**
 * Forwards SETTINGS and PING of both directions, within limits, and keeps those that we may have to answer ourselves.
 */
export class ControlFrames {
  /** The runtime has sent its first SETTINGS, before which the kubelet accepts no other frame. */
  hasRuntimeSettings = false;
  /** SETTINGS that the kubelet sent and the runtime has not answered. */
  private openSettings = 0;
  private openPings: Buffer[] = [];

  constructor(
    readonly context: ConnectionContext,
    readonly requests: RequestPath,
    readonly fromKubelet: FrameReader,
    readonly fromRuntime: FrameReader,
  ) {}

  takeKubeletSettings(frame: Frame): void {
    if (hasFlag(frame, Flag.ack)) {
      this.context.toRuntime.pass(frame);
      return;
    }
    const settings = limitSettingsTowardsRuntime(parseSettings(frame));
    this.fromRuntime.allowFrameBytes(settings.get(Setting.maxFrameBytes) ?? 0);
    this.openSettings++;
    this.context.toRuntime.send(formatSettings(settings));
  }

  takeRuntimeSettings(frame: Frame): void {
    if (hasFlag(frame, Flag.ack)) {
      this.openSettings--;
      this.context.toKubelet.pass(frame);
      return;
    }
    const settings = limitSettingsTowardsKubelet(parseSettings(frame), !this.hasRuntimeSettings);
    this.fromKubelet.allowFrameBytes(settings.get(Setting.maxFrameBytes) ?? 0);
    this.requests.allowTableBytes(settings.get(Setting.headerTableBytes) ?? 0);
    const initialWindowBytes = settings.get(Setting.initialWindowBytes);
    if (initialWindowBytes !== undefined) this.requests.sender.setInitialWindow(initialWindowBytes);
    this.hasRuntimeSettings = true;
    this.context.toKubelet.send(formatSettings(settings));
  }

  takeKubeletPing(frame: Frame): void {
    const data = readPing(frame);
    if (!hasFlag(frame, Flag.ack)) {
      this.openPings.push(Buffer.from(data));
      if (this.openPings.length > MAX_OPEN_PINGS) this.openPings.shift();
    }
    this.context.toRuntime.pass(frame);
  }

  takeRuntimePing(frame: Frame): void {
    const data = readPing(frame);
    if (hasFlag(frame, Flag.ack)) this.openPings = this.openPings.filter((open) => !open.equals(data));
    this.context.toKubelet.pass(frame);
  }

  /** Answers the kubelet's open SETTINGS and PINGs, since the runtime will not any more. */
  answerOpen(): void {
    const { toKubelet } = this.context;
    if (!this.hasRuntimeSettings) toKubelet.send(formatSettings(limitSettingsTowardsKubelet(new Map(), true)));
    this.hasRuntimeSettings = true;
    for (; this.openSettings > 0; this.openSettings--) toKubelet.send(settingsAck());
    for (const ping of this.openPings.splice(0)) toKubelet.send(formatPing(ping, true));
  }
}

/** The acknowledgement of one SETTINGS frame. */
export function settingsAck(): Buffer {
  return formatFrame(FrameType.settings, Flag.ack, 0, new Uint8Array());
}

/** The 8 bytes of a PING. */
export function readPing(frame: Frame): Buffer {
  const data = frame.buffer.subarray(frame.start + FRAME_HEAD_BYTES, frame.end);
  if (data.length !== 8) throw new ConnectionError(ErrorCode.frameSize, 'a PING without 8 bytes');
  return data;
}
