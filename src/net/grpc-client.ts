import type { Client } from '@grpc/grpc-js';
import { CpusetdError } from '../core/errors';
import { explainFailureOf, toCallError, type ExplainFailure } from './grpc-error';

/** The part of a generated codec that a call needs. */
export interface Codec<T> {
  encode(message: T): { finish(): Uint8Array };
  decode(bytes: Buffer): T;
}

/** One method of a generated service definition. */
export interface GrpcMethod<Request, Answer> {
  readonly name: string;
  readonly requestType: Codec<Request>;
  readonly responseType: Codec<Answer>;
}

export interface GrpcClientOptions {
  /** Path of the unix socket, with or without `unix://`. */
  readonly endpoint: string;
  /** Full name of the service that is called, e.g. `runtime.v1.RuntimeService`. */
  readonly service: string;
  /** The peer as error messages name it, e.g. "the runtime". */
  readonly peer: string;
  /** Makes the messages of errors; by default they name peer, method and status. */
  readonly explain?: ExplainFailure;
  /** Longest answer that is accepted; 16 MiB by default, as in the kubelet's clients. */
  readonly maxAnswerBytes?: number;
}

export interface CallOptions {
  /** 10,000 by default. The peer gets this deadline too. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Wait, within the time, for a peer that is away, instead of failing at once with UNAVAILABLE. */
  readonly waitForReady?: boolean;
  /** Another service of the same peer. */
  readonly service?: string;
}

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** The reconnect times of the kubelet's clients. */
const CONNECTION_OPTIONS = {
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.min_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 3000,
  'grpc.use_local_subchannel_pool': 1, // each client has a connection of its own, which its close ends
};

/**
 * A connection to a gRPC server on a unix socket. It connects with the first call, and again after it was lost.
 *
 * The gRPC library is slow to load. It is imported by the first call, so that a daemon that registers as an NRI plugin
 * does not wait for it.
 */
export class GrpcClient {
  private loading: Promise<Client> | undefined;
  private closed = false;
  private readonly explain: ExplainFailure;

  constructor(private readonly options: GrpcClientOptions) {
    this.explain = options.explain ?? explainFailureOf(options.peer);
  }

  /** Calls a unary method. Throws CpusetdError with the peer's status, DEADLINE_EXCEEDED, CANCELLED or UNAVAILABLE. */
  async call<Request, Answer>(
    method: GrpcMethod<Request, Answer>,
    request: Request,
    { timeoutMs = DEFAULT_TIMEOUT_MS, signal, waitForReady = false, service }: CallOptions = {},
  ): Promise<Answer> {
    const deadline = Date.now() + timeoutMs; // from here, so that a slow first import does not add to it
    const client = await this.open(method.name);
    const { Metadata } = await import('@grpc/grpc-js');
    if (signal?.aborted === true) throw new CpusetdError('CANCELLED', `${method.name}: cancelled before it was sent`);
    return new Promise((resolve, reject) => {
      const call = client.makeUnaryRequest(
        ...this.route(method, service),
        request,
        new Metadata({ waitForReady }),
        { deadline },
        (failure, answer) => {
          signal?.removeEventListener('abort', cancel);
          if (failure !== null) reject(toCallError(failure, { method: method.name, timeoutMs }, this.explain));
          else resolve(answer as Answer);
        },
      );
      const cancel = () => call.cancel();
      signal?.addEventListener('abort', cancel, { once: true });
    });
  }

  /**
   * Calls a server-streaming method. The messages end when the peer ends them or the signal aborts; errors as of
   * `call`.
   */
  async *stream<Request, Answer>(
    method: GrpcMethod<Request, Answer>,
    request: Request,
    { signal, service }: { readonly signal: AbortSignal; readonly service?: string },
  ): AsyncGenerator<Answer> {
    const client = await this.open(method.name);
    const stream = client.makeServerStreamRequest(...this.route(method, service), request);
    const cancel = (): void => stream.cancel();
    signal.addEventListener('abort', cancel);
    if (signal.aborted) cancel();
    try {
      for await (const message of stream as AsyncIterable<Answer>) yield message;
    } catch (error) {
      if (!signal.aborted) throw toCallError(error as object, { method: method.name }, this.explain);
    } finally {
      signal.removeEventListener('abort', cancel);
      stream.cancel();
    }
  }

  /** Ends the connection and fails what is in flight. Closing twice is harmless. */
  close(): void {
    this.closed = true;
    this.loading?.then((client) => client.close()).catch(() => undefined); // never opened: nothing to close
  }

  private open(method: string): Promise<Client> {
    if (this.closed)
      throw new CpusetdError('UNAVAILABLE', `${method}: the connection to ${this.options.peer} was closed`);
    return (this.loading ??= this.connect());
  }

  private async connect(): Promise<Client> {
    const { endpoint, maxAnswerBytes = DEFAULT_MAX_ANSWER_BYTES } = this.options;
    const { Client, credentials } = await import('@grpc/grpc-js');
    return new Client(`unix:${endpoint.replace(/^unix:\/\//, '')}`, credentials.createInsecure(), {
      ...CONNECTION_OPTIONS,
      'grpc.max_receive_message_length': maxAnswerBytes,
    });
  }

  private route<Request, Answer>(
    { name, requestType, responseType }: GrpcMethod<Request, Answer>,
    service = this.options.service,
  ): [path: string, encode: (message: Request) => Buffer, decode: (bytes: Buffer) => Answer] {
    return [
      `/${service}/${name}`,
      (message) => Buffer.from(requestType.encode(message).finish()),
      (bytes) => responseType.decode(bytes),
    ];
  }
}
