import { randomBytes } from 'node:crypto';
import { readPing } from './control-frames';
import {
  ErrorCode,
  Flag,
  formatGoaway,
  formatPing,
  formatRstStream,
  FrameType,
  hasFlag,
  type Frame,
} from '../http2/frame';
import type { ConnectionContext } from './connection-context';
import { stopping } from '../proxy-errors';
import type { RequestPath } from './request-path';
import type { ResponsePath } from './response-path';

const MAX_STREAM_ID = 0x7fffffff;

/**
 * Takes no new calls from the kubelet without losing one: GOAWAY in two steps (RFC 9113 §6.8). The first announces the end; when
 * the kubelet has answered a PING that was sent behind it, it opens no more streams, so the second can name the last one.
 */
export class GracefulShutdown {
  #step: 'none' | 'requested' | 'announced' | 'final' = 'none';
  #endsEndless = false;
  readonly #ping = randomBytes(8);

  constructor(
    readonly context: ConnectionContext,
    readonly requests: RequestPath,
    readonly responses: ResponsePath,
  ) {}

  get isRequested(): boolean {
    return this.#step !== 'none';
  }

  /** No more calls come. */
  get isFinal(): boolean {
    return this.#step === 'final';
  }

  /** `endsEndless`: calls that never end by themselves are ended, too. */
  request({ endsEndless }: { readonly endsEndless: boolean }): void {
    this.#endsEndless ||= endsEndless;
    if (this.#step === 'none') this.#step = 'requested';
    else if (this.#step !== 'requested') this.#endEndless();
  }

  /** The kubelet has the first SETTINGS, so other frames may follow. */
  sendGoaway(): void {
    if (this.#step !== 'requested') return;
    const { toKubelet } = this.context;
    this.#step = 'announced';
    toKubelet.send(formatGoaway(MAX_STREAM_ID, ErrorCode.none));
    toKubelet.send(formatPing(this.#ping, false));
    this.#endEndless();
  }

  /** True when the frame is the kubelet's answer to our PING; it is not passed on. */
  takeAnswer(frame: Frame): boolean {
    const isAnswer =
      this.#step === 'announced' &&
      frame.type === FrameType.ping &&
      hasFlag(frame, Flag.ack) &&
      readPing(frame).equals(this.#ping);
    if (isAnswer) this.finish();
    return isAnswer;
  }

  /** Takes the second step: the kubelet has answered, or does not answer in time. */
  finish(): void {
    if (this.#step === 'none' || this.#step === 'final') return;
    if (this.#step === 'announced')
      this.context.toKubelet.send(formatGoaway(this.requests.lastStreamId, ErrorCode.none));
    this.#step = 'final';
    this.requests.acceptNoMore();
    this.#endEndless();
    this.context.closeWhenDone();
  }

  #endEndless(): void {
    if (!this.#endsEndless) return;
    const { toRuntime, streams } = this.context;
    for (const stream of [...streams.values()]) {
      if (!stream.isEndless) continue;
      toRuntime.send(formatRstStream(stream.id, ErrorCode.cancel));
      this.responses.failWith(stream, stopping);
    }
  }
}
