import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { loadSync } from '@grpc/proto-loader';

import { Request, Response } from '../gen/ttrpc';
import {
  decodeRequest,
  decodeResponse,
  encodeFailure,
  encodeRequest,
  encodeSuccess,
  type RequestEnvelope,
} from '../../src/wire/envelope';
import { MESSAGE_HEADER_BYTES } from '../../src/wire/message';
import { DecodeError } from '../../src/wire/protobuf';
import { listFieldTable, type FieldTable } from '../proto/list-field-table';

const runs = { seed: 20261121, numRuns: 500 };
const root = join(__dirname, '../..');
const text = fc.string({ unit: 'grapheme', maxLength: 200 });
const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
const request = fc.record({
  service: text,
  method: text,
  payload: bytes,
  timeoutNano: fc.maxSafeNat(),
  metadata: fc.array(fc.record({ key: text, value: text }), { maxLength: 5 }),
});

/** The data of an encoded message; checks its header and headroom. */
function dataOf(packet: Buffer, headroom: number, streamId: number, type: number): Buffer {
  const header = packet.subarray(headroom, headroom + MESSAGE_HEADER_BYTES);
  const data = packet.subarray(headroom + MESSAGE_HEADER_BYTES);
  expect([header.readUInt32BE(0), header.readUInt32BE(4), header[8], header[9]]).toEqual([
    data.length,
    streamId,
    type,
    0,
  ]);
  return data;
}

const hex = (digits: string): Buffer => Buffer.from(digits.replaceAll(' ', ''), 'hex');

describe('against the generated codec', () => {
  test('a request that cpusetd encodes is decoded the same', () => {
    fc.assert(
      fc.property(request, fc.nat(16), (wanted, headroom) => {
        const data = dataOf(encodeRequest(headroom, 7, wanted), headroom, 7, 1);
        const { _unknownFields, ...read } = Request.decode(data);
        expect({ ...read, payload: Buffer.from(read.payload) }).toMatchObject({
          ...wanted,
          timeoutNano: BigInt(wanted.timeoutNano),
        });
        expect(read.metadata).toHaveLength(wanted.metadata.length);
      }),
      runs,
    );
  });

  test('a request of the generated codec is decoded the same', () => {
    fc.assert(
      fc.property(request, fc.boolean(), (wanted, isLate) => {
        const timeoutNano = isLate ? 0 - wanted.timeoutNano : wanted.timeoutNano;
        const written = Request.create({ ...wanted, timeoutNano: BigInt(timeoutNano) });
        const data = Buffer.from(Request.encode(written).finish());
        const read = decodeRequest(data, 0, data.length);
        expect(read).toEqual<RequestEnvelope>({ ...wanted, timeoutNano });
      }),
      runs,
    );
  });

  test('a success that cpusetd encodes is decoded the same', () => {
    fc.assert(
      fc.property(bytes, fc.nat(16), (payload, headroom) => {
        const read = Response.decode(dataOf(encodeSuccess(headroom, 9, payload), headroom, 9, 2));
        expect(read.status).toBeUndefined();
        expect(Buffer.from(read.payload)).toEqual(payload);
      }),
      runs,
    );
  });

  test('a failure that cpusetd encodes is decoded the same', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 31 - 1 }), text, (code, message) => {
        const read = Response.decode(dataOf(encodeFailure(8, 9, code, message), 8, 9, 2));
        expect(read.status).toMatchObject({ code, message });
        expect(read.payload).toHaveLength(0);
      }),
      runs,
    );
  });

  test('a response of the generated codec is decoded the same', () => {
    fc.assert(
      fc.property(fc.integer(), text, bytes, bytes, (code, message, payload, value) => {
        const status = { code, message, details: [{ typeUrl: 'x', value }] };
        const data = Buffer.from(Response.encode({ status, payload }).finish());
        expect(decodeResponse(data, 0, data.length)).toEqual({ code, message, payload });
      }),
      runs,
    );
  });

  test.each([0, -1, -(2 ** 31), 1.5, NaN])('the code %p, which no failure has, is sent as UNKNOWN', (code) => {
    expect(Response.decode(dataOf(encodeFailure(0, 1, code, 'm'), 0, 1, 2)).status?.code).toBe(2);
  });
});

test.each`
  name                                                  | data
  ${'a success without any data'}                       | ${''}
  ${'a success with an empty payload field'}            | ${'12 00'}
  ${'a success with an empty status'}                   | ${'0a 00'}
  ${'a success with unknown fields of every wire type'} | ${'18 05 21 0000000000000000 2a 01 00 35 00000000'}
`('$name is a success', ({ data }: Record<string, string>) => {
  const input = hex(data!);
  expect(decodeResponse(input, 0, input.length)).toEqual({ code: 0, message: '', payload: Buffer.alloc(0) });
});

test('given a field twice, then the last one counts', () => {
  const input = hex('0a 01 61 0a 01 62');
  expect(decodeRequest(input, 0, input.length).service).toBe('b');
});

test.each`
  name                                       | data
  ${'a tag that is cut off'}                 | ${'80'}
  ${'a length that is missing'}              | ${'0a'}
  ${'a length that is cut off'}              | ${'0a 80'}
  ${'a string longer than the message'}      | ${'0a 05 61'}
  ${'a length of 2^63'}                      | ${'1a 80 80 80 80 80 80 80 80 80 01'}
  ${'a number of eleven bytes'}              | ${'20 80 80 80 80 80 80 80 80 80 80 01'}
  ${'a timeout that is cut off'}             | ${'20 ff'}
  ${'metadata longer than the message'}      | ${'2a 7f 0a 00'}
  ${'a key longer than its entry'}           | ${'2a 03 0a 05 61 61 61 61'}
  ${'a field number of 0'}                   | ${'02 00'}
  ${'the start of a group'}                  | ${'33'}
  ${'the end of a group'}                    | ${'34'}
  ${'wire type 6'}                           | ${'36'}
  ${'wire type 7'}                           | ${'37'}
  ${'an unknown 64-bit number, cut off'}     | ${'31 00 00'}
  ${'an unknown 32-bit number, cut off'}     | ${'35 00 00'}
  ${'an unknown field, cut off'}             | ${'32 04 00'}
  ${'one entry of metadata above the limit'} | ${'2a 00 '.repeat(1025)}
`('$name is no request', ({ data }: Record<string, string>) => {
  const input = hex(data!);
  expect(() => decodeRequest(input, 0, input.length)).toThrow(DecodeError);
  // Bytes behind the message don't belong to it.
  const longer = Buffer.concat([input, Buffer.alloc(200, 1)]);
  expect(() => decodeRequest(longer, 0, input.length)).toThrow(DecodeError);
});

test.each`
  name                                   | data
  ${'a status longer than the message'}  | ${'0a 05 08'}
  ${'a code that is cut off'}            | ${'0a 02 08 80'}
  ${'a message longer than its status'}  | ${'0a 02 12 05 61 61 61 61 61'}
  ${'a payload longer than the message'} | ${'12 05 00'}
`('$name is no response', ({ data }: Record<string, string>) => {
  const input = hex(data!);
  expect(() => decodeResponse(input, 0, input.length)).toThrow(DecodeError);
});

test.each`
  payloadBytes     | name
  ${(4 << 20) - 5} | ${'exactly 4 MiB of data'}
`('$name can be sent', ({ payloadBytes }: { payloadBytes: number }) => {
  expect(encodeSuccess(0, 1, Buffer.alloc(payloadBytes))).toHaveLength(MESSAGE_HEADER_BYTES + (4 << 20));
});

test.each`
  name          | encode
  ${'response'} | ${() => encodeSuccess(0, 1, Buffer.alloc((4 << 20) - 4))}
  ${'failure'}  | ${() => encodeFailure(0, 1, 2, 'x'.repeat(4 << 20))}
  ${'request'}  | ${() => encodeRequest(0, 1, { service: 's', method: 'm', payload: Buffer.alloc(4 << 20), timeoutNano: 0, metadata: [] })}
`('a $name above 4 MiB is refused', ({ encode }: { encode: () => Buffer }) => {
  expect(encode).toThrow(expect.objectContaining({ name: 'TtrpcError', code: 8 }));
});

test('proto/ttrpc.proto has the same fields as the published table of ttrpc', () => {
  const table = JSON.parse(readFileSync(join(root, 'test/fixtures/wire/ttrpc.json'), 'utf8')) as FieldTable;
  const fields = listFieldTable(table).filter((line) => line.startsWith('field '));
  const loaded = loadSync('ttrpc.proto', { includeDirs: [join(root, 'proto')], keepCase: true });
  const ours = Object.entries(loaded).flatMap(([name, { type }]: [string, LoadedMessage]) =>
    (type?.field ?? []).map(({ name: field, number }) => `${name}.${field} ${number}`),
  );
  expect(ours.sort()).toEqual(fields.map((line) => line.split(' ').slice(1, 3).join(' ')).sort());
  expect(ours).toHaveLength(15);
});

interface LoadedMessage {
  readonly type?: { readonly field?: readonly { readonly name: string; readonly number: number }[] };
}
