import * as grpc from '@grpc/grpc-js';
import { CreateContainerRequest, UpdateContainerResourcesRequest } from '../../gen/cri/v1/cri';
import { Stage } from '../interceptors/stage';
import { Bench, type Handler, type Outcome, type TestClient } from '../proxy/harness';
import { composeMessage } from './compose-message';
import { readCriTable, type TableMethod } from './cri-table';

// One session over every method of CRI, and some unknown ones: once on the runtime's own socket, once through the proxy
// with all interceptors of cpusetd in it. Both sides must see the same bytes.

const table = readCriTable();
const invented = ['/runtime.v1.RuntimeService/Invented', '/made.up.v9.Service/Method'].map((path): TableMethod => {
  const [request, response] = ['runtime.v1.RunPodSandboxRequest', 'runtime.v1.ContainerStatusResponse'];
  return { name: path, path, request, response, server_streaming: path.includes('made.up') };
});
/** Calls about a container are made while it exists. */
const first = ['RunPodSandbox', 'CreateContainer', 'StartContainer', 'UpdateContainerResources'];
const methods = [...table.methods, ...invented].sort((a, b) => rank(a) - rank(b));

function rank({ name }: TableMethod): number {
  const at = first.indexOf(name);
  return at < 0 ? first.length : at;
}

interface Arrived {
  readonly path: string;
  readonly metadata: Record<string, unknown>;
  readonly timeLimited: boolean;
  readonly messages: readonly Buffer[];
}

/** Answers every method as the call asks for: with one message, or three, or with an error that has details. */
function serve({ response, server_streaming: isStream }: TableMethod, arrived: Arrived[]): Handler {
  const answer = Buffer.from(composeMessage(table, response));
  return (call) => {
    const messages: Buffer[] = [];
    call.on('data', (message: Buffer) => messages.push(message));
    call.on('end', () => {
      const { 'user-agent': _client, ...metadata } = call.metadata.toJSON();
      arrived.push({ path: call.getPath(), metadata, timeLimited: Number(call.getDeadline()) < Infinity, messages });
      const header = new grpc.Metadata();
      header.set('x-header', 'of the runtime');
      header.set('x-header-bin', Buffer.from([0, 1, 255]));
      call.sendMetadata(header);
      const trailer = new grpc.Metadata();
      trailer.set('x-trailer', 'of the runtime');
      const fails = call.metadata.get('x-outcome')[0] === 'fail';
      if (!fails || isStream) call.write(answer);
      if (!fails && isStream) {
        call.write(answer);
        call.write(Buffer.alloc(0));
      }
      if (!fails) return call.end(trailer);
      trailer.set('grpc-status-details-bin', Buffer.from([8, 9, 18, 2, 110, 111]));
      call.emit('error', { code: 9, details: 'no: 100 % naïve', metadata: trailer });
    });
  };
}

async function runSession(client: TestClient, outcome: string): Promise<Map<string, Outcome>> {
  const outcomes = new Map<string, Outcome>();
  for (const { path, request } of methods) {
    const metadata = new grpc.Metadata();
    metadata.set('x-outcome', outcome);
    metadata.set('x-data-bin', Buffer.from([0, 254, 255]));
    metadata.set('traceparent', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01');
    const deadline = Date.now() + 60_000;
    outcomes.set(path, await client.run(path, [composeMessage(table, request)], metadata, { deadline }));
  }
  return outcomes;
}

const arrived: Arrived[] = [];
const bench = new Bench();
const stage = new Stage();

beforeAll(async () => {
  await bench.startRuntime(Object.fromEntries(methods.map((method) => [method.path, serve(method, arrived)])));
  await bench.startProxy(Object.fromEntries(stage.adapter.interceptors));
});
afterAll(() => bench.close());

/** The bytes that the proxy appended to a request; all other bytes have to be the same. */
function addedTo({ path }: Arrived, bytes: Buffer): object {
  if (path.endsWith('/CreateContainer')) return CreateContainerRequest.decode(bytes);
  return UpdateContainerResourcesRequest.decode(bytes);
}

test('the table has every method of both services, and each is in the session', () => {
  expect(table.methods.filter(({ path }) => path.startsWith('/runtime.v1.RuntimeService/'))).toHaveLength(37);
  expect(table.methods.filter(({ path }) => path.startsWith('/runtime.v1.ImageService/'))).toHaveLength(6);
  expect(new Set(methods.map(({ path }) => path)).size).toBe(45);
});

test.each(['ok', 'fail'])(
  'every method, known or not, is forwarded unchanged, when it ends with: %s',
  async (outcome) => {
    const direct = await runSession(bench.client(bench.runtimePath), outcome);
    const sent = arrived.splice(0);
    const proxied = await runSession(bench.client(), outcome);
    const passed = arrived.splice(0);

    expect(sent.map(({ path }) => path)).toEqual(methods.map(({ path }) => path));
    const added = new Map<string, object>();
    const asSent = passed.map((request, n) => {
      const whole = request.messages[0]!;
      const own = sent[n]!.messages[0]!;
      if (whole.length > own.length) added.set(request.path, addedTo(request, whole.subarray(own.length)));
      return { ...request, messages: [whole.subarray(0, own.length)] };
    });
    expect(asSent).toEqual(sent);
    expect(proxied).toEqual(direct);
    expect([...direct.values()].every(({ code }) => code === (outcome === 'ok' ? 0 : 9))).toBe(true);

    const resources = { cpusetCpus: '0-7' };
    const create = CreateContainerRequest.fromPartial({ config: { linux: { resources } } });
    const update = UpdateContainerResourcesRequest.fromPartial({ linux: resources });
    const isMade = outcome === 'ok'; // a container that the runtime refused can't be updated
    expect(Object.fromEntries(added)).toEqual({
      '/runtime.v1.RuntimeService/CreateContainer': create,
      ...(isMade && { '/runtime.v1.RuntimeService/UpdateContainerResources': update }),
    });
    expect(bench.faults).toEqual([]);
  },
);

test('a method that the runtime does not know is answered by the runtime', async () => {
  const path = '/runtime.v1.RuntimeService/NobodyKnows';
  const [direct, proxied] = [await bench.client(bench.runtimePath).run(path, []), await bench.client().run(path, [])];
  expect(direct).toMatchObject({ code: 12, details: expect.stringContaining('NobodyKnows') as string });
  expect(proxied).toEqual(direct);
});
