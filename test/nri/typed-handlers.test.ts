import {
  CreateContainerRequest,
  CreateContainerResponse,
  Event,
  StateChangeEvent,
  SynchronizeRequest,
  SynchronizeResponse,
} from '../../gen/nri/v1alpha1/nri';
import { markForRemoval, type NriHandlers, type TtrpcRequest } from '../../src/nri';
import { EVENT_OF_METHOD, maskOf, type EventMethod } from '../../src/nri/protocol';
import { createRawPlugin } from '../../src/nri/create-raw-plugin';

const EVENTS = Object.keys(EVENT_OF_METHOD) as EventMethod[];
const toHandlerName = (method: EventMethod) => `${method[0]!.toLowerCase()}${method.slice(1)}` as keyof NriHandlers;

function requestOf(method: string, payload: Uint8Array): TtrpcRequest {
  return { service: 'test', method, payload, metadata: [], timeoutMs: 2000, signal: new AbortController().signal };
}

test('all fourteen events of NRI 0.12 have a handler, and a mask of one bit each', () => {
  const named = Object.entries(Event).filter(
    ([name, value]) => typeof value === 'number' && !['LAST', 'UNKNOWN', 'UNRECOGNIZED'].includes(name),
  );
  expect(named.map(([, value]) => value).sort()).toEqual(Object.values(EVENT_OF_METHOD).sort());
  expect(maskOf(EVENTS)).toBe(2 ** 14 - 1);
});

test.each(EVENTS)(
  '%s is subscribed to by its handler alone, which gets the pod from its method and from StateChange',
  async (method) => {
    const seen: unknown[] = [];
    const plugin = createRawPlugin({
      [toHandlerName(method)]: ({ pod }: { pod: { id: string } }) => void seen.push(pod.id),
    });
    expect(plugin.events).toEqual([method]);
    expect(Object.keys(plugin.methods)).toEqual([method, 'StateChange']);
    const own = CreateContainerRequest.encode(CreateContainerRequest.create({ pod: { id: 'own' } })).finish();
    const change = StateChangeEvent.create({ event: EVENT_OF_METHOD[method], pod: { id: 'change' } });
    expect(await plugin.methods[method]!(requestOf(method, own))).toHaveLength(0);
    await plugin.methods['StateChange']!(requestOf('StateChange', StateChangeEvent.encode(change).finish()));
    expect(seen).toEqual(['own', 'change']);
  },
);

test('given a StateChange of an event without a handler, then it is answered with nothing, and its pod is not decoded', () => {
  const change = StateChangeEvent.encode(StateChangeEvent.create({ event: Event.REMOVE_CONTAINER })).finish();
  const handler = createRawPlugin({}).methods['StateChange']!;
  expect(handler(requestOf('StateChange', change))).toHaveLength(0);
  // The bytes of `pod` are no PodSandbox.
  const broken = Buffer.concat([change, Buffer.from([0x12, 0x02, 0x0a, 0x7f])]);
  expect(handler(requestOf('StateChange', broken))).toHaveLength(0);
});

test('given a StateChange whose event comes last, then the handler of that event is called', async () => {
  const seen: string[] = [];
  const plugin = createRawPlugin({ removePodSandbox: ({ pod }) => void seen.push(pod?.id ?? '') });
  const bytes = Buffer.from([0x12, 0x03, 0x0a, 0x01, 0x61, 0x08, Event.REMOVE_POD_SANDBOX]);
  await plugin.methods['StateChange']!(requestOf('StateChange', bytes));
  expect(seen).toEqual(['a']);
});

test.each([
  ['ends within a field', [0x08]],
  ['announces more bytes than there are', [0x12, 0x7f]],
])('given a StateChange that %s, then it is refused as INVALID_ARGUMENT', (_name, bytes) => {
  const call = () => createRawPlugin({}).methods['StateChange']!(requestOf('StateChange', Buffer.from(bytes)));
  expect(call).toThrow(expect.objectContaining({ code: 3 }));
});

test('given no handler for synchronize, then of each piece only `more` is read', () => {
  const reader = createRawPlugin({}).openSynchronization();
  // The bytes of the first pod are no PodSandbox.
  const piece = (more: number) => requestOf('Synchronize', Buffer.from([0x0a, 0x02, 0x0a, 0x7f, 0x18, more]));
  expect(reader.add(piece(1))).toBe(true);
  expect(reader.add(piece(0))).toBe(false);
});

test('given pieces of more than 64 MiB together, then the list is refused as RESOURCE_EXHAUSTED', () => {
  const reader = createRawPlugin({ synchronize: () => undefined }).openSynchronization();
  const pods = [{ id: 'x'.repeat(22 << 20) }];
  const request = requestOf(
    'Synchronize',
    SynchronizeRequest.encode(SynchronizeRequest.create({ pods, more: true })).finish(),
  );
  expect([reader.add(request), reader.add(request)]).toEqual([true, true]);
  expect(() => reader.add(request)).toThrow(expect.objectContaining({ code: 8 }));
});

test.each(['at once', 'by a promise'])('given an adjustment %s, then the answer has it', async (how) => {
  const adjust = {
    env: [{ key: 'A', value: '1' }, { key: markForRemoval('B') }],
    linux: { memoryPolicy: { nodes: '0' } },
  };
  const answer = { adjust, evict: [{ containerId: 'x', reason: 'full' }] };
  const plugin = createRawPlugin({
    createContainer: () => (how === 'at once' ? answer : Promise.resolve(answer)),
  });
  const bytes = await plugin.methods['CreateContainer']!(requestOf('CreateContainer', new Uint8Array(0)));
  expect(CreateContainerResponse.decode(bytes)).toMatchObject({
    adjust: {
      env: [
        { key: 'A', value: '1' },
        { key: '-B', value: '' },
      ],
      linux: { memoryPolicy: { nodes: '0' } },
    },
    evict: [{ containerId: 'x', reason: 'full' }],
  });
});

test('given bytes that are no message of the method, then they are refused as INVALID_ARGUMENT', () => {
  const plugin = createRawPlugin({ createContainer: () => undefined });
  const call = () => plugin.methods['CreateContainer']!(requestOf('CreateContainer', Buffer.from([0x0a, 0xff])));
  expect(call).toThrow(expect.objectContaining({ code: 3 }));
});

test('given a list in pieces, then the handler gets all of it at once, and its updates are the answer', async () => {
  const reader = createRawPlugin({
    synchronize: ({ containers }) => containers.map(({ id }) => ({ containerId: id })),
  }).openSynchronization();
  const piece = (id: string, more: boolean) =>
    requestOf(
      'Synchronize',
      SynchronizeRequest.encode(SynchronizeRequest.create({ containers: [{ id }], more })).finish(),
    );
  expect(reader.add(piece('a', true))).toBe(true);
  expect(reader.add(piece('b', false))).toBe(false);
  const { update } = SynchronizeResponse.decode(await reader.answer(piece('', false)));
  expect(update.map(({ containerId }) => containerId)).toEqual(['a', 'b']);
});

test('given a list without an end, then it is refused at the limit', () => {
  const reader = createRawPlugin({ synchronize: () => undefined }).openSynchronization();
  const containers = Array.from({ length: 60_000 }, (_, index) => ({ id: `c${index}` }));
  const request = requestOf(
    'Synchronize',
    SynchronizeRequest.encode(SynchronizeRequest.create({ containers, more: true })).finish(),
  );
  expect(reader.add(request)).toBe(true);
  expect(() => reader.add(request)).toThrow(expect.objectContaining({ code: 8 }));
});
