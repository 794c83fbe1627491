import { CreateContainerResponse } from '../../gen/nri/v1alpha1/nri';
import { CpusetdError } from '../../src/core/errors';
import { parseCpuList } from '../../src/core/cpuset';
import type { RuntimeAnswer, RuntimeEvent } from '../../src/core/model/events';
import { createCpuPlugin } from '../../src/nri-events';
import { encodeEventRequest, encodeStateChange, Event } from './build-request';

const creation = encodeEventRequest({ pod: { id: 'p' }, container: { id: 'c', podSandboxId: 'p' } });
const ok: RuntimeAnswer = { kind: 'ok' };
const pinned: RuntimeAnswer = { kind: 'ok', adjust: { cpus: parseCpuList('2-3') } };

function makePlugin(decide: (event: RuntimeEvent) => RuntimeAnswer | Promise<RuntimeAnswer>) {
  const seen: RuntimeEvent[] = [];
  const warnings: object[] = [];
  const ignore = (): void => undefined;
  const log = { debug: ignore, info: ignore, error: ignore, warn: (fields: object) => void warnings.push(fields) };
  const plugin = createCpuPlugin({ onEvent: (event) => (seen.push(event), decide(event)) }, log);
  const call = (method: string, payload: Uint8Array) =>
    plugin.methods[method]!({ method, payload } as Parameters<(typeof plugin.methods)[string]>[0]);
  return { plugin, call, seen, warnings };
}

function cpusIn(bytes: unknown): string | undefined {
  return CreateContainerResponse.decode(bytes as Uint8Array).adjust?.linux?.resources?.cpu?.cpus;
}

test('a handler that answers at once gives bytes, one that answers by a promise gives a promise of the same bytes', async () => {
  const atOnce = makePlugin(() => pinned).call('CreateContainer', creation);
  expect(atOnce).toBeInstanceOf(Uint8Array);
  expect(cpusIn(atOnce)).toBe('2-3');
  const later = makePlugin(() => Promise.resolve(pinned)).call('CreateContainer', creation);
  expect(later).toBeInstanceOf(Promise);
  expect(await later).toEqual(atOnce);
});

test('the handler gets the event of the request', () => {
  const { call, seen } = makePlugin(() => ok);
  void call('CreateContainer', creation);
  expect(seen).toMatchObject([{ kind: 'create-container', pod: { sandboxId: 'p' }, container: { id: 'c' } }]);
});

test('a StateChange of an event without use here is answered empty and does not reach the handler', () => {
  const { call, seen } = makePlugin(() => ok);
  const answer = call('StateChange', encodeStateChange({ event: Event.UNKNOWN }));
  expect([answer, seen]).toEqual([new Uint8Array(0), []]);
});

test.each([
  [
    'a refusal is thrown with its code and text',
    () => ({ kind: 'refuse', code: 'RESOURCE_EXHAUSTED', message: 'full' }),
    8,
    'full',
  ],
  [
    'an error of ours is thrown with its code and text',
    () => raise(new CpusetdError('UNAVAILABLE', 'not yet')),
    14,
    'not yet',
  ],
  [
    'an error of ours in a promise is thrown the same',
    () => Promise.reject(new CpusetdError('UNAVAILABLE', 'late')),
    14,
    'late',
  ],
] as const)('%s', async (_name, decide, code, message) => {
  const { call } = makePlugin(decide as () => RuntimeAnswer);
  await expect((async () => call('CreateContainer', creation))()).rejects.toMatchObject({
    name: 'TtrpcError',
    code,
    message,
  });
});

test('an error that is not ours is thrown unchanged, so that the wire hides its text', async () => {
  const fault = new TypeError('a fault');
  await expect((async () => makePlugin(() => raise(fault)).call('CreateContainer', creation))()).rejects.toBe(fault);
  await expect(makePlugin(() => Promise.reject(fault)).call('CreateContainer', creation)).rejects.toBe(fault);
});

test('a message that can not be read is refused with INVALID_ARGUMENT', () => {
  const { call, seen } = makePlugin(() => ok);
  expect(() => call('CreateContainer', Uint8Array.of(0xff))).toThrow(expect.objectContaining({ code: 3 }));
  expect(seen).toEqual([]);
});

test('a change that the response has no field for is left out with a warning', () => {
  const { call, warnings } = makePlugin(() => pinned);
  const stopped = call('RemoveContainer', encodeEventRequest({ pod: { id: 'p' }, container: { id: 'c' } }));
  expect([stopped, warnings]).toEqual([new Uint8Array(0), [{ event: 'container-removed' }]]);
});

function raise(error: Error): never {
  throw error;
}
