import * as grpc from '@grpc/grpc-js';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { CriProxy, UpstreamMonitor, type CriProxyOptions, type Interceptor } from '../../../src/cri/proxy';

export type Handler = (call: grpc.ServerDuplexStream<Buffer, Buffer>) => void;
export type Handlers = Readonly<Record<string, Handler>>;

const identity = (bytes: Buffer): Buffer => bytes;

/**
 * A real gRPC server on a unix socket that passes bytes. Every handler is a stream handler: on the wire unary calls are
 * the same.
 */
export async function startRuntime(path: string, handlers: Handlers): Promise<grpc.Server> {
  const server = new grpc.Server({ 'grpc.max_receive_message_length': -1 });
  const methods = Object.keys(handlers).map((method) => [
    method,
    {
      path: method,
      requestStream: true,
      responseStream: true,
      requestSerialize: identity,
      requestDeserialize: identity,
      responseSerialize: identity,
      responseDeserialize: identity,
    },
  ]);
  server.addService(Object.fromEntries(methods), handlers);
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(`unix:${path}`, grpc.ServerCredentials.createInsecure(), (err) => (err ? reject(err) : resolve())),
  );
  return server;
}

/** The events of a call that a client can see. */
export interface Outcome {
  readonly messages: Buffer[];
  readonly header: Record<string, unknown>;
  readonly trailer: Record<string, unknown>;
  readonly code: number;
  readonly details: string;
}

export class TestClient {
  readonly grpc: grpc.Client;

  constructor(path: string) {
    this.grpc = new grpc.Client(`unix:${path}`, grpc.credentials.createInsecure(), {
      'grpc.max_receive_message_length': -1,
      'grpc.use_local_subchannel_pool': 1,
      'grpc.initial_reconnect_backoff_ms': 20,
      'grpc.max_reconnect_backoff_ms': 50,
    });
  }

  open(
    method: string,
    metadata = new grpc.Metadata(),
    options: grpc.CallOptions = {},
  ): grpc.ClientDuplexStream<Buffer, Buffer> {
    return this.grpc.makeBidiStreamRequest(method, identity, identity, metadata, options);
  }

  /** Sends the messages, ends the request, collects the response. */
  async run(
    method: string,
    requests: readonly Uint8Array[],
    metadata?: grpc.Metadata,
    options?: grpc.CallOptions,
  ): Promise<Outcome> {
    const call = this.open(method, metadata, options);
    const outcome = collect(call);
    for (const request of requests) call.write(Buffer.from(request));
    call.end();
    return outcome;
  }
}

/** Resolves with the events of the call once it has its status. */
export function collect(call: grpc.ClientDuplexStream<Buffer, Buffer>): Promise<Outcome> {
  const messages: Buffer[] = [];
  let header: Record<string, unknown> = {};
  call.on('metadata', (metadata) => (header = withoutDate(metadata)));
  call.on('data', (message: Buffer) => messages.push(message));
  call.on('error', () => undefined);
  return new Promise((resolve) =>
    call.on('status', ({ code, details, metadata }) =>
      resolve({ messages, header, trailer: withoutDate(metadata), code, details }),
    ),
  );
}

function withoutDate(metadata: grpc.Metadata): Record<string, unknown> {
  const { date: _date, ...rest } = metadata.toJSON();
  return rest;
}

/** One test's sockets, servers and clients; `close` ends them all. */
export class Bench {
  readonly folder = mkdtempSync(join(tmpdir(), 'crip-'));
  readonly runtimePath = join(this.folder, 'r');
  readonly proxyPath = join(this.folder, 'p');
  readonly faults: unknown[] = [];
  readonly runtimeChanges: boolean[] = [];
  private readonly closers: (() => unknown)[] = [];
  runtime: grpc.Server | undefined;

  async startRuntime(handlers: Handlers): Promise<grpc.Server> {
    const runtime = await startRuntime(this.runtimePath, handlers);
    this.runtime = runtime;
    this.onClose(() => runtime.forceShutdown());
    return runtime;
  }

  /** A runtime whose connections can be cut in a moment, as if it were killed, and that can come back. */
  async startPluggedRuntime(handlers: Handlers): Promise<{ pull(): void; plugIn(): void }> {
    const inner = join(this.folder, 'inner');
    const runtime = await startRuntime(inner, handlers);
    const sockets = new Set<Socket>();
    let server = createServer();
    const pull = (): void => {
      server.close();
      for (const socket of sockets) socket.destroy();
      sockets.clear();
    };
    const plugIn = (): void => {
      server = createServer((near) => {
        const far = connect(inner);
        for (const socket of [near, far]) sockets.add(socket.on('error', () => undefined));
        near.pipe(far).pipe(near);
      }).listen(this.runtimePath);
    };
    plugIn();
    this.onClose(() => runtime.forceShutdown());
    this.onClose(pull);
    return { pull, plugIn };
  }

  async startProxy(
    interceptors: Readonly<Record<string, Interceptor>> = {},
    options: Partial<CriProxyOptions> = {},
  ): Promise<CriProxy> {
    const upstream = new UpstreamMonitor(this.runtimePath);
    upstream.subscribe((isUp) => this.runtimeChanges.push(isUp));
    this.onClose(() => upstream.close());
    const proxy = await CriProxy.open({
      listen: { path: this.proxyPath },
      upstream,
      interceptors: new Map(Object.entries(interceptors)),
      endlessPaths: ['/runtime.v1.RuntimeService/GetContainerEvents'],
      reportFault: (fault) => this.faults.push(fault),
      ...options,
    });
    this.onClose(() => proxy.drain({ timeoutMs: 0 }));
    return proxy;
  }

  client(path = this.proxyPath): TestClient {
    const client = new TestClient(path);
    this.onClose(() => client.grpc.close());
    return client;
  }

  onClose(closer: () => unknown): void {
    this.closers.push(closer);
  }

  async close(): Promise<void> {
    for (const closer of this.closers.reverse()) await closer();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
