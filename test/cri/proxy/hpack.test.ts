import * as fc from 'fast-check';
import * as http2 from 'node:http2';
import { duplexPair } from './duplex-pair';
import {
  ConnectionError,
  Flag,
  formatFrame,
  FrameType,
  hasFlag,
  readContent,
  type Frame,
} from '../../../src/cri/proxy/http2/frame';
import { FrameReader } from '../../../src/cri/proxy/http2/frame-reader';
import { HpackDecoder } from '../../../src/cri/proxy/http2/hpack-decoder';
import { encodeHeaders } from '../../../src/cri/proxy/http2/hpack-encoder';

const hex = (text: string): Buffer => Buffer.from(text.replace(/\s/g, ''), 'hex');
const lines = (fields: readonly (readonly [string, string])[]): string[] =>
  fields.map(([name, value]) => `${name}: ${value}`);

const requests = [
  [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com'],
  [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com', 'cache-control: no-cache'],
  [':method: GET', ':scheme: https', ':path: /index.html', ':authority: www.example.com', 'custom-key: custom-value'],
];
const location = 'location: https://www.example.com';
const responses = [
  [':status: 302', 'cache-control: private', 'date: Mon, 21 Oct 2013 20:13:21 GMT', location],
  [':status: 307', 'cache-control: private', 'date: Mon, 21 Oct 2013 20:13:21 GMT', location],
  [
    ':status: 200',
    'cache-control: private',
    'date: Mon, 21 Oct 2013 20:13:22 GMT',
    location,
    'content-encoding: gzip',
    'set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1',
  ],
];

test.each([
  [
    'C.3 requests without Huffman',
    4096,
    requests,
    [
      '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
      '8286 84be 5808 6e6f 2d63 6163 6865',
      '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
    ],
  ],
  [
    'C.4 requests with Huffman',
    4096,
    requests,
    [
      '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
      '8286 84be 5886 a8eb 1064 9cbf',
      '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
    ],
  ],
  [
    'C.5 responses that evict, without Huffman',
    256,
    responses,
    [
      '4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
      '4803 3330 37c1 c0bf',
      '88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31',
    ],
  ],
  [
    'C.6 responses that evict, with Huffman',
    256,
    responses,
    [
      '4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3',
      '4883 640e ffc1 c0bf',
      '88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07',
    ],
  ],
] as const)('decodes RFC 7541 %s', (_name, tableBytes, fields, blocks) => {
  const decoder = new HpackDecoder(tableBytes);
  expect(blocks.map((block) => lines(decoder.decode(hex(block))))).toEqual(fields);
});

test.each([
  ['an index of 0', '80'],
  ['an index beyond both tables', 'be'],
  ['a name index beyond both tables', '7f 00 01 61'],
  ['a number that is cut off', 'ff'],
  ['a number that never ends', 'ff ff ff ff ff ff ff ff 01'],
  ['a name that is cut off', '40 05 61 62'],
  ['a value that is missing', '40 01 61'],
  ['a value longer than the block', '40 01 61 7f ff 7f'],
  ['a Huffman text with EOS in it', '40 01 61 84 ff ff ff ff'],
  ['a Huffman text with more than 7 bits of padding', '40 01 61 82 1f ff'],
  ['a Huffman text padded with zeros', '40 01 61 81 18'],
  ['a table size update beyond what is allowed', '3f e2 1f'],
  ['a table size update behind a field', '82 20'],
])('ends the connection on %s', (_name, block) => {
  expect(() => new HpackDecoder().decode(hex(block))).toThrow(ConnectionError);
});

test('forgets entries when the encoder makes its table smaller', () => {
  const decoder = new HpackDecoder();
  decoder.decode(hex('40 01 61 01 62'));
  expect(lines(decoder.decode(hex('be')))).toEqual(['a: b']);
  expect(() => decoder.decode(hex('20 be'))).toThrow(ConnectionError);
});

test('allows a larger table once it was announced', () => {
  const decoder = new HpackDecoder();
  decoder.allowTableBytes(8192);
  expect(decoder.decode(hex('3f e1 3f 82'))).toEqual([[':method', 'GET']]);
});

test('reads back what it encodes, and inserts nothing into the table', () => {
  const text = fc.string({
    unit: fc.integer({ min: 33, max: 255 }).map((byte) => String.fromCharCode(byte)),
    maxLength: 300,
  });
  fc.assert(
    fc.property(
      fc.array(
        fc.tuple(
          fc.oneof(text, fc.constantFrom(':status', 'content-type', 'grpc-status')),
          fc.oneof(text, fc.constantFrom('200', '0')),
        ),
      ),
      (fields) => {
        const decoder = new HpackDecoder();
        expect(decoder.decode(encodeHeaders(fields))).toEqual(fields);
        expect(() => decoder.decode(hex('be'))).toThrow(ConnectionError);
      },
    ),
    { seed: 7, numRuns: 200 },
  );
});

test('decodes what the encoder of nghttp2 makes of thousands of requests, table evictions included', async () => {
  const sent: string[][] = [];
  const got: string[][] = [];
  const decoder = new HpackDecoder();
  const [clientEnd, ourEnd] = duplexPair();
  const client = http2.connect('http://localhost', {
    createConnection: () => clientEnd,
    settings: { enablePush: false },
  });
  const reader = new FrameReader({ expectPreface: true });
  let blocks: Buffer[] = [];
  const done = new Promise<void>((resolve) => {
    ourEnd.on('data', (chunk: Buffer) =>
      reader.feed(chunk, (frame: Frame) => {
        if (frame.type === FrameType.settings && !hasFlag(frame, Flag.ack))
          ourEnd.write(formatFrame(FrameType.settings, Flag.ack, 0, new Uint8Array()));
        if (frame.type !== FrameType.headers && frame.type !== FrameType.continuation) return;
        blocks.push(
          frame.type === FrameType.headers ? readContent(frame) : frame.buffer.subarray(frame.start + 9, frame.end),
        );
        if (!hasFlag(frame, Flag.endHeaders)) return;
        got.push(lines(decoder.decode(Buffer.concat(blocks))));
        blocks = [];
        // An answer keeps the number of open streams low.
        ourEnd.write(
          formatFrame(
            FrameType.headers,
            Flag.endHeaders | Flag.endStream,
            frame.streamId,
            encodeHeaders([[':status', '200']]),
          ),
        );
        if (got.length === 3000) resolve();
      }),
    );
  });
  ourEnd.write(formatFrame(FrameType.settings, 0, 0, new Uint8Array()));
  let seed = 1;
  const next = (below: number): number => (seed = (seed * 48_271) % 0x7fffffff) % below;
  for (let n = 0; n < 3000; n++) {
    const headers: http2.OutgoingHttpHeaders = {
      ':method': 'POST',
      ':path': `/service/${next(40)}`,
      ':authority': 'localhost',
      ':scheme': 'http',
    };
    for (let extra = next(6); extra > 0; extra--) {
      headers[`x-${next(60)}`] = Array.from({ length: next(next(20) === 0 ? 3000 : 40) }, () =>
        String.fromCharCode(33 + next(94)),
      ).join('');
    }
    sent.push(Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`));
    const stream = client.request(headers, { endStream: true });
    stream.on('error', () => undefined);
    stream.resume();
    if (n % 100 === 99) await new Promise((resolve) => setImmediate(resolve));
  }
  await done;
  expect(got.map((fields) => [...fields].sort())).toEqual(sent.map((fields) => [...fields].sort()));
  client.destroy();
});
