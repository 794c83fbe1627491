import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import * as nri from '../../gen/nri/v1alpha1/nri';
import type { TtrpcRequest } from '../../src/nri';
import { createRawPlugin } from '../../src/nri/create-raw-plugin';
import { EVENT_OF_METHOD } from '../../src/nri/protocol';

// The typed handlers against the published table of NRI: no event is missing, and no field of a request or of an answer
// is lost.

interface TableField {
  readonly json_name: string;
  readonly type: string;
  readonly type_name?: string;
  readonly label: 'singular' | 'repeated' | 'map';
  readonly key_type?: string;
  readonly value_type?: string;
  readonly value_type_name?: string;
}

interface Method {
  readonly name: string;
  readonly request: string;
  readonly response: string;
}

interface Codec {
  encode(message: unknown): { finish(): Uint8Array };
  decode(payload: Uint8Array): unknown;
  fromPartial(message: unknown): unknown;
}

const table = JSON.parse(readFileSync(join(__dirname, '../fixtures/wire/nri-v1alpha1.json'), 'utf8')) as {
  readonly messages: readonly { readonly name: string; readonly fields: readonly TableField[] }[];
  readonly services: readonly { readonly name: string; readonly methods: readonly Method[] }[];
};
const fieldsOf = new Map(table.messages.map(({ name, fields }) => [name, fields]));
const pluginMethods = table.services.find(({ name }) => name.endsWith('.Plugin'))!.methods;
const eventMethods = pluginMethods.filter(({ name }) => name in EVENT_OF_METHOD);
/** The fields that the messages of this file were made with, as `Message.field`. */
const composed = new Set<string>();

/** A message in which every field of the table has a value that is not the default one. */
function compose(message: string): Record<string, unknown> {
  const fields = fieldsOf.get(message);
  if (!fields) throw new Error(`the table has no message ${message}`);
  return Object.fromEntries(
    fields.map((field) => {
      composed.add(`${message.split('.').slice(4).join('.')}.${field.json_name}`);
      return [field.json_name, composeField(field)];
    }),
  );
}

function composeField({ label, type, type_name, key_type, value_type, value_type_name }: TableField): unknown {
  if (label === 'map') return { [key_type === 'string' ? 'key' : 7]: composeValue(value_type!, value_type_name) };
  const value = composeValue(type, type_name);
  return label === 'repeated' ? [value] : value;
}

function composeValue(type: string, message: string | undefined): unknown {
  if (type === 'message') return compose(message!);
  if (type === 'string') return 'text';
  if (type === 'bool') return true;
  return type.endsWith('64') ? 5n : 1;
}

const codecOf = (message: string): Codec => (nri as unknown as Record<string, Codec>)[message.split('.').at(-1)!]!;
const encode = (message: string, value: unknown): Uint8Array =>
  codecOf(message).encode(codecOf(message).fromPartial(value)).finish();
const requestOf = (method: string, payload: Uint8Array): TtrpcRequest => ({
  service: 'test',
  method,
  payload,
  metadata: [],
  signal: new AbortController().signal,
});

test('given the methods of a plugin in the table, then each event has a typed handler', () => {
  const others = ['Configure', 'Synchronize', 'Shutdown', 'StateChange'];
  const expected = pluginMethods.map(({ name }) => name).filter((name) => !others.includes(name));
  expect(Object.keys(EVENT_OF_METHOD).sort()).toEqual(expected.sort());
});

test.each(eventMethods)('given $name with every field, then its handler gets each', async ({ name, request }) => {
  const message = compose(request);
  const seen: unknown[] = [];
  const handler = { [`${name[0]!.toLowerCase()}${name.slice(1)}`]: (given: unknown) => void seen.push(given) };
  await createRawPlugin(handler).methods[name]!(requestOf(name, encode(request, message)));
  expect(seen).toMatchObject([message]);
});

test.each(eventMethods.filter(({ response }) => fieldsOf.get(response)!.length > 0))(
  'given an answer to $name with every field, then each is sent',
  async ({ name, request, response }) => {
    const answer = compose(response);
    const handler = { [`${name[0]!.toLowerCase()}${name.slice(1)}`]: () => answer };
    const plugin = createRawPlugin(handler);
    const payload = await plugin.methods[name]!(requestOf(name, encode(request, {})));
    expect(codecOf(response).decode(payload)).toMatchObject(answer);
  },
);

test('given Synchronize with every field, then its handler gets each, and each field of its updates is sent', async () => {
  const [{ request, response }] = pluginMethods.filter(({ name }) => name === 'Synchronize') as [Method];
  const { pods, containers } = compose(request);
  const { update } = compose(response);
  const seen: unknown[] = [];
  const reader = createRawPlugin({
    synchronize: (given) => {
      seen.push(given);
      return update as nri.ContainerUpdate[];
    },
  }).openSynchronization();
  const whole = requestOf('Synchronize', encode(request, { pods, containers }));
  expect(reader.add(whole)).toBe(false);
  expect(codecOf(response).decode(await reader.answer(whole))).toMatchObject({ update, more: false });
  expect(seen).toMatchObject([{ pods, containers }]);
});

test('given the messages of the tests above, then they have every field of NRI that a handler can get or give', () => {
  for (const { request, response } of pluginMethods.filter(({ name }) => !/^(Configure|StateChange)$/.test(name)))
    for (const message of [request, response]) compose(message);
  // No message refers to OptionalInt32; the others are not for handlers.
  const elsewhere =
    /^(RegisterPlugin|UpdateContainers|Configure|FailurePolicy|StateChangeEvent|LogRequest|OptionalInt32)/;
  const all = table.messages.flatMap(({ name, fields }) =>
    fields.map(({ json_name }) => `${name.split('.').slice(4).join('.')}.${json_name}`),
  );
  expect(all.filter((field) => !elsewhere.test(field) && !composed.has(field))).toEqual([]);
  expect(composed.size).toBeGreaterThan(220);
});
