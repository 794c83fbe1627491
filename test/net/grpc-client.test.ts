import * as grpc from '@grpc/grpc-js';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HealthDefinition, HealthCheckResponse_ServingStatus as Serving } from '../../gen/grpc/health/v1/health';
import { GrpcClient, type GrpcClientOptions } from '../../src/net/grpc-client';
import { toGrpcService } from '../../src/net/grpc-service';

const { check, watch } = HealthDefinition.methods;
const OTHER_NAME = 'other.v1.Health';

type Unary = grpc.handleUnaryCall<{ service: string }, object | Buffer>;
type Streaming = grpc.handleServerStreamingCall<{ service: string }, object>;

let folder: string;
let endpoint: string;
let client: GrpcClient;
let server: grpc.Server | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'grpc-'));
  endpoint = join(folder, 's');
  client = open();
});
afterEach(() => {
  client.close();
  server?.forceShutdown();
  server = undefined;
  rmSync(folder, { recursive: true });
});

function open(options: Partial<GrpcClientOptions> = {}): GrpcClient {
  return new GrpcClient({ endpoint, service: HealthDefinition.fullName, peer: 'the peer', ...options });
}

/** A server of the health service, under its own name and another. */
async function serve(handlers: { check?: Unary; watch?: Streaming }): Promise<void> {
  const all = { check: unimplemented, watch: unimplemented, ...handlers } as grpc.UntypedServiceImplementation;
  server = new grpc.Server();
  server.addService(toGrpcService(HealthDefinition), all);
  server.addService(toGrpcService(HealthDefinition, OTHER_NAME), {
    ...all,
    check: (_call: unknown, done: grpc.sendUnaryData<object>) => done(null, { status: Serving.SERVICE_UNKNOWN }),
  });
  await new Promise<void>((resolve, reject) =>
    server!.bindAsync(`unix:${endpoint}`, grpc.ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    ),
  );
}

const unimplemented: Unary = (_call, done) => done({ code: grpc.status.UNIMPLEMENTED, details: 'no' });

test('an answer comes as a message, whether the server has it as a message or as bytes', async () => {
  await serve({
    check: ({ request }, done) => {
      const answer = { status: Serving.SERVING };
      done(null, request.service === 'bytes' ? Buffer.from(check.responseType.encode(answer).finish()) : answer);
    },
  });
  for (const service of ['message', 'bytes'])
    expect(await client.call(check, { service })).toMatchObject({ status: Serving.SERVING });
});

test('a call for another service of the same peer goes to that service', async () => {
  await serve({});
  expect(await client.call(check, { service: '' }, { service: OTHER_NAME })).toMatchObject({
    status: Serving.SERVICE_UNKNOWN,
  });
});

test('an endpoint with unix:// in front is the same socket', async () => {
  await serve({ check: (_call, done) => done(null, { status: Serving.SERVING }) });
  const other = open({ endpoint: `unix://${endpoint}` });
  expect(await other.call(check, { service: '' })).toMatchObject({ status: Serving.SERVING });
  other.close();
});

test('an error status of the peer rejects with its name, and a message that names peer and method', async () => {
  await serve({ check: (_call, done) => done({ code: grpc.status.NOT_FOUND, details: 'no such service' }) });
  await expect(client.call(check, { service: '' })).rejects.toMatchObject({
    code: 'NOT_FOUND',
    message: 'the peer answered Check with NOT_FOUND: no such service',
  });
});

test('without a server a call fails at once with UNAVAILABLE; with waitForReady it waits for the server', async () => {
  await expect(client.call(check, { service: '' })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  const patient = client.call(check, { service: '' }, { waitForReady: true, timeoutMs: 60_000 });
  await serve({ check: (_call, done) => done(null, { status: Serving.SERVING }) });
  expect(await patient).toMatchObject({ status: Serving.SERVING });
});

test('a peer that does not answer in the time of the call gives DEADLINE_EXCEEDED', async () => {
  await serve({ check: () => undefined });
  await expect(client.call(check, { service: '' }, { timeoutMs: 200 })).rejects.toMatchObject({
    code: 'DEADLINE_EXCEEDED',
    message: 'the peer did not answer Check within 0.2 s',
  });
});

test('a signal that aborts before or during a call gives CANCELLED', async () => {
  const stop = new AbortController();
  await serve({ check: () => stop.abort() });
  const during = client.call(check, { service: '' }, { signal: stop.signal });
  await expect(during).rejects.toMatchObject({ code: 'CANCELLED' });
  await expect(client.call(check, { service: '' }, { signal: stop.signal })).rejects.toMatchObject({
    code: 'CANCELLED',
    message: 'Check: cancelled before it was sent',
  });
});

test('an answer beyond the limit of the client is refused with RESOURCE_EXHAUSTED', async () => {
  await serve({ check: (_call, done) => done(null, Buffer.alloc(100)) });
  const strict = open({ maxAnswerBytes: 50 });
  await expect(strict.call(check, { service: '' })).rejects.toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
  strict.close();
});

test('a closed client refuses calls, and closing it twice is harmless', async () => {
  await serve({ check: (_call, done) => done(null, { status: Serving.SERVING }) });
  await client.call(check, { service: '' });
  client.close();
  client.close();
  await expect(client.call(check, { service: '' })).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: 'Check: the connection to the peer was closed',
  });
});

describe('a stream', () => {
  async function read(signal: AbortSignal, onMessage: () => void = () => undefined): Promise<number[]> {
    const statuses: number[] = [];
    for await (const { status } of client.stream(watch, { service: '' }, { signal })) {
      statuses.push(status);
      onMessage();
    }
    return statuses;
  }

  test('gives the messages in order and ends when the peer ends it', async () => {
    await serve({
      watch: (call) => {
        for (const status of [Serving.NOT_SERVING, Serving.SERVING]) call.write({ status });
        call.end();
      },
    });
    expect(await read(new AbortController().signal)).toEqual([Serving.NOT_SERVING, Serving.SERVING]);
  });

  test('ends without an error when the signal aborts', async () => {
    await serve({ watch: (call) => void call.write({ status: Serving.SERVING }) });
    const stop = new AbortController();
    expect(await read(stop.signal, () => stop.abort())).toEqual([Serving.SERVING]);
    expect(await read(stop.signal)).toEqual([]);
  });

  test('throws the error status of the peer', async () => {
    await serve({
      watch: (call) => void call.emit('error', { code: grpc.status.FAILED_PRECONDITION, details: 'not now' }),
    });
    await expect(read(new AbortController().signal)).rejects.toMatchObject({
      code: 'FAILED_PRECONDITION',
      message: 'the peer answered Watch with FAILED_PRECONDITION: not now',
    });
  });
});
