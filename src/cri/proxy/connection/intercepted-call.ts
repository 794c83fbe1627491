import { StatusCode } from '../../../wire';
import { codeOfReset, findHeader, readStatus, type GrpcStatus } from '../grpc/status';
import { inflateMessage, type GrpcMessage } from '../grpc/message';
import { MessageAssembler } from '../grpc/message-assembler';
import type { HeaderField } from '../http2/hpack-static-table';
import type { ProxyError } from '../proxy-errors';
import type { CallContext, CallEnd, Interceptor, RequestVerdict } from '../interceptor';

/** Reports a fault that no peer sees, for the log. */
export type ReportFault = (fault: { readonly what: string; readonly path?: string; readonly err?: unknown }) => void;

/** One intercepted call. Calls the hooks in order, each once for each message and at the end. */
export class InterceptedCall {
  readonly context: CallContext;
  private wasForwarded = false;
  private readonly abort = new AbortController();
  private readonly answer: MessageAssembler;
  private answerEncoding: string | undefined;
  private passed: GrpcMessage[] = [];
  private hasEnded = false;

  constructor(
    readonly interceptor: Interceptor,
    path: string,
    metadata: readonly HeaderField[],
    readonly options: { readonly maxMessageBytes: number; readonly reportFault: ReportFault },
  ) {
    this.context = { path, metadata, signal: this.abort.signal };
    this.answer = new MessageAssembler(options.maxMessageBytes, (bytes) => {
      this.report(`an answer of ${bytes} bytes passes unread`);
    });
  }

  /** The request was sent to the runtime. */
  noteForwarded(): void {
    this.wasForwarded = true;
  }

  /** Asks `onRequest`. An error of the hook becomes a refusal. */
  decide(message: GrpcMessage): RequestVerdict | Promise<RequestVerdict> {
    const encoding = findHeader(this.context.metadata, 'grpc-encoding');
    const bytes = inflateMessage(message, encoding, this.options.maxMessageBytes);
    if (bytes === undefined)
      return this.refuse('UNREADABLE_REQUEST', 'the request is compressed in a way that cannot be read');
    const fail = (err: unknown): RequestVerdict => {
      this.report('onRequest failed', err);
      return this.refuse('INTERNAL', 'internal error while deciding about the request');
    };
    // An unchanged message is forwarded as it came, compressed or not.
    const settle = (verdict: RequestVerdict): RequestVerdict => (verdict === bytes ? message.bytes : verdict);
    try {
      const verdict = this.interceptor.onRequest?.(bytes, this.context) ?? bytes;
      return verdict instanceof Promise ? verdict.then(settle, fail) : settle(verdict);
    } catch (err) {
      return fail(err);
    }
  }

  /** Takes the header fields that begin the answer. */
  takeAnswerHeaders(fields: readonly HeaderField[]): void {
    this.answerEncoding = findHeader(fields, 'grpc-encoding');
  }

  /**
   * Takes DATA of the answer, and runs `onResponse` for every message that it completes. A promise when a hook returned
   * one.
   */
  takeAnswerData(content: Buffer): Promise<void> | undefined {
    const { interceptor } = this;
    const isHeld = interceptor.onResponse !== undefined;
    if (!isHeld && interceptor.onPassed === undefined) return undefined;
    const messages = this.answer.push(content);
    if (!isHeld) {
      for (const message of messages) this.passed.push(message);
      return undefined;
    }
    let waiting: Promise<void> | undefined;
    for (const message of messages) {
      const run = (): void | Promise<void> => {
        const bytes = this.inflate(message);
        if (bytes !== undefined) return this.interceptor.onResponse?.(bytes, this.context);
      };
      waiting =
        waiting === undefined ? this.guard('onResponse', run) : waiting.then(() => this.guard('onResponse', run));
    }
    return waiting;
  }

  /** True when there are messages that `onPassed` has not seen. */
  get hasPassed(): boolean {
    return this.passed.length > 0;
  }

  /** Runs `onPassed` for the messages that were forwarded since the last time. */
  readPassed(): void {
    for (const message of this.passed.splice(0)) {
      try {
        const bytes = this.inflate(message);
        if (bytes !== undefined) this.interceptor.onPassed?.(bytes, this.context);
      } catch (err) {
        this.report('onPassed failed', err);
      }
    }
  }

  /** The plain bytes of a message of the answer; undefined, with a report, when it can't be inflated. */
  private inflate(message: GrpcMessage): Buffer | undefined {
    const bytes = inflateMessage(message, this.answerEncoding, this.options.maxMessageBytes);
    if (bytes === undefined) this.report('a compressed answer passes unread');
    return bytes;
  }

  /** The runtime ended the call with these trailers. */
  endWithTrailers(fields: readonly HeaderField[]): Promise<void> | undefined {
    return this.end({ origin: 'runtime', status: readStatus(fields) });
  }

  /** The runtime ended the call with RST_STREAM. */
  endWithReset(http2Code: number): Promise<void> | undefined {
    const message = `stream reset by the runtime with HTTP/2 code ${http2Code}`;
    return this.end({ origin: 'runtime', status: { code: codeOfReset(http2Code), message } });
  }

  /** The runtime's GOAWAY shows that it did not work on the call. */
  endUnworked(): void {
    this.wasForwarded = false;
    const message = 'not worked on: the runtime is going away';
    this.endUnawaited({ origin: 'runtime', status: { code: StatusCode.UNAVAILABLE, message } });
  }

  /** The caller cancelled or disconnected. */
  endByCaller(): void {
    this.endUnawaited({
      origin: 'caller',
      status: { code: StatusCode.CANCELLED, message: 'cancelled by the caller' },
    });
  }

  /** We ended the call with an error of ours. */
  endByProxy({ code, message }: ProxyError): void {
    this.endUnawaited({ origin: 'proxy', status: { code, message } });
  }

  private endUnawaited(end: { readonly origin: CallEnd['origin']; readonly status: GrpcStatus }): void {
    this.end(end)?.catch((err: unknown) => this.report('onEnd failed', err));
  }

  /** Runs `onEnd` once. A promise when the hook returned one; it never rejects. */
  private end(end: { readonly origin: CallEnd['origin']; readonly status: GrpcStatus }): Promise<void> | undefined {
    if (this.hasEnded) return undefined;
    this.hasEnded = true;
    if (end.origin !== 'runtime' || !this.wasForwarded) this.abort.abort();
    const hook = (): void | Promise<void> =>
      this.interceptor.onEnd?.({ ...end, forwarded: this.wasForwarded }, this.context);
    return this.guard('onEnd', hook);
  }

  private guard(what: string, hook: () => void | Promise<void>): Promise<void> | undefined {
    const report = (err: unknown): void => this.report(`${what} failed`, err);
    try {
      const result = hook();
      return result instanceof Promise ? result.catch(report) : undefined;
    } catch (err) {
      report(err);
      return undefined;
    }
  }

  private refuse(reason: string, message: string): RequestVerdict {
    return { refuse: { code: StatusCode.INTERNAL, reason, message } };
  }

  private report(what: string, err?: unknown): void {
    this.options.reportFault({ what, path: this.context.path, err });
  }
}
