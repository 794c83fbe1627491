import type { Client } from '@grpc/grpc-js';
import { CpusetdError } from '../core/errors';
import { toCriError } from './grpc-error';

/** A generated codec, as far as a call needs it. */
interface Codec<T> {
  encode(message: T): { finish(): Uint8Array };
  decode(bytes: Uint8Array): T;
}

/** One method of a generated service definition. */
export interface UnaryMethod<Request, Answer> {
  readonly name: string;
  readonly requestType: Codec<Request>;
  readonly responseType: Codec<Answer>;
}

export interface CallOptions {
  /** 10,000 unless told; the runtime is told too. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Wait (within the time) for a runtime that is away, instead of failing at once with UNAVAILABLE. */
  readonly waitForReady?: boolean;
}

/** A connection to one gRPC service on a unix socket. It connects with the first call and again whenever it was lost. */
export interface Channel {
  /** @throws {CpusetdError} with the runtime's status, DEADLINE_EXCEEDED, CANCELLED or UNAVAILABLE */
  call<Request, Answer>(method: UnaryMethod<Request, Answer>, request: Request, options?: CallOptions): Promise<Answer>;
  /** Ends the connection and fails what is in flight. Closing twice is harmless. */
  close(): void;
}

const defaultTimeoutMs = 10_000;

// What the kubelet's own client uses.
const clientOptions = {
  'grpc.max_receive_message_length': 16 * 1024 * 1024,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.min_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 3000,
  'grpc.use_local_subchannel_pool': 1, // closing one client ends its connection, whoever else talks to the same socket
};

/**
 * Opens nothing yet: the gRPC library, slow to load, is imported by the first call, so that a daemon that registers as an
 * NRI plugin does not wait for it.
 *
 * @param endpoint path of the unix socket, with or without `unix://`
 * @param service full name, e.g. `runtime.v1.RuntimeService`
 */
export function openChannel(endpoint: string, service: string): Channel {
  const target = `unix://${endpoint.replace(/^unix:\/\//, '')}`;
  let loading: Promise<Client> | undefined;
  let closed = false;

  const connect = async (): Promise<Client> => {
    const grpc = await import('@grpc/grpc-js');
    return new grpc.Client(target, grpc.credentials.createInsecure(), clientOptions);
  };

  return {
    async call(method, request, options = {}) {
      if (closed) throw new CpusetdError('UNAVAILABLE', `${method.name}: the connection to the runtime was closed`);
      // The time runs from here, so that a slow first import does not stretch it.
      const timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
      const limits = { timeoutMs, deadline: Date.now() + timeoutMs };
      const client = await (loading ??= connect());
      return callUnary(client, service, method, request, limits, options);
    },
    close() {
      closed = true;
      loading?.then((client) => client.close()).catch(() => undefined); // never opened: nothing to close
    },
  };
}

async function callUnary<Request, Answer>(
  client: Client,
  service: string,
  method: UnaryMethod<Request, Answer>,
  request: Request,
  { timeoutMs, deadline }: { readonly timeoutMs: number; readonly deadline: number },
  { signal, waitForReady = false }: CallOptions,
): Promise<Answer> {
  const { Metadata } = await import('@grpc/grpc-js');
  if (signal?.aborted === true) throw new CpusetdError('CANCELLED', `${method.name}: cancelled before it was sent`);
  return new Promise((resolve, reject) => {
    const call = client.makeUnaryRequest(
      `/${service}/${method.name}`,
      (message: Request) => Buffer.from(method.requestType.encode(message).finish()),
      (bytes) => method.responseType.decode(bytes),
      request,
      new Metadata({ waitForReady }),
      { deadline },
      (failure, answer) => {
        signal?.removeEventListener('abort', cancel);
        if (failure !== null) reject(toCriError(method.name, failure, timeoutMs));
        else resolve(answer as Answer);
      },
    );
    const cancel = () => call.cancel();
    signal?.addEventListener('abort', cancel, { once: true });
  });
}
