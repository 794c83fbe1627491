import * as fc from 'fast-check';
import { HeaderBlockReader, readBlock } from '../../../src/cri/proxy/http2/header-block-reader';
import {
  CLIENT_PREFACE,
  ConnectionError,
  Flag,
  formatFrame,
  FrameType,
  readContent,
  type Frame,
} from '../../../src/cri/proxy/http2/frame';
import { FrameReader } from '../../../src/cri/proxy/http2/frame-reader';
import { formatSettings, parseSettings } from '../../../src/cri/proxy/http2/settings';
import { MessageAssembler } from '../../../src/cri/proxy/grpc/message-assembler';
import { MessageBoundary } from '../../../src/cri/proxy/grpc/message-boundary';
import { FlowControl } from '../../../src/cri/proxy/connection/flow-control';
import {
  limitSettingsTowardsKubelet,
  limitSettingsTowardsRuntime,
} from '../../../src/cri/proxy/connection/limit-settings';

const show = ({ type, flags, streamId, buffer, start, end }: Frame): string =>
  `${type} ${flags} ${streamId} ${buffer.toString('hex', start, end)}`;
const read = (bytes: Buffer): Frame => {
  const frames: Frame[] = [];
  new FrameReader({ expectPreface: false }).feed(bytes, (frame) => frames.push(frame));
  return frames[0]!;
};

const session = Buffer.concat([
  CLIENT_PREFACE,
  formatFrame(FrameType.settings, 0, 0, Buffer.alloc(12, 1)),
  formatFrame(FrameType.headers, 4, 1, Buffer.from('abc')),
  formatFrame(FrameType.data, 1, 1, Buffer.alloc(300, 2)),
  formatFrame(FrameType.settings, 1, 0, Buffer.alloc(0)),
]);

test('reads the same frames wherever the bytes are split', () => {
  const readIn = (...chunks: Buffer[]): string[] => {
    const reader = new FrameReader({ expectPreface: true });
    const frames: string[] = [];
    for (const chunk of chunks) reader.feed(chunk, (frame) => frames.push(show(frame)));
    return frames;
  };
  const whole = readIn(session);
  expect(whole).toHaveLength(4);
  for (let at = 0; at <= session.length; at++)
    expect(readIn(session.subarray(0, at), session.subarray(at))).toEqual(whole);
  expect(readIn(...Array.from(session, (byte) => Buffer.from([byte])))).toEqual(whole);
});

test.each([
  ['another protocol', Buffer.from('GET / HTTP/1.1\r\n\r\n'), 'does not speak HTTP/2'],
  [
    'a frame longer than allowed',
    Buffer.concat([CLIENT_PREFACE, Buffer.from([0, 0x40, 1, 0, 0, 0, 0, 0, 1])]),
    '16385 bytes',
  ],
])('refuses %s', (_name, bytes, message) => {
  for (const chunks of [[bytes], Array.from(bytes, (byte) => Buffer.from([byte]))]) {
    const reader = new FrameReader({ expectPreface: true });
    expect(() => chunks.forEach((chunk) => reader.feed(chunk, () => undefined))).toThrow(message);
  }
});

test.each([
  ['without padding', 0, 'aabb', 'aabb'],
  ['with padding', Flag.padded, '02 aabb 0000', 'aabb'],
  ['with nothing but padding', Flag.padded, '01 00', ''],
])('reads the content of DATA %s', (_name, flags, payload, content) => {
  expect(
    readContent(read(formatFrame(FrameType.data, flags, 1, Buffer.from(payload.replace(/ /g, ''), 'hex')))).toString(
      'hex',
    ),
  ).toBe(content);
});

test.each([
  ['padding longer than the frame', FrameType.data, Flag.padded, '05 aabb'],
  ['a padded frame without a length of padding', FrameType.data, Flag.padded, ''],
  ['a priority that is cut off', FrameType.headers, Flag.priority, '0000'],
])('refuses %s', (_name, type, flags, payload) => {
  const frame = read(formatFrame(type, flags, 1, Buffer.from(payload.replace(/ /g, ''), 'hex')));
  expect(() => readContent(frame)).toThrow(ConnectionError);
});

describe('a header block', () => {
  const headers = read(formatFrame(FrameType.headers, 0, 3, Buffer.from('one')));
  const more = (streamId: number, flags = 0): Frame =>
    read(formatFrame(FrameType.continuation, flags, streamId, Buffer.from('two')));

  test('is put together from its frames', () => {
    const reader = new HeaderBlockReader();
    expect(reader.take(headers)).toBeUndefined();
    expect(reader.take(more(3))).toBeUndefined();
    const block = reader.take(more(3, Flag.endHeaders));
    expect([String(block && readBlock(block)), block?.length, reader.isOpen]).toEqual(['onetwotwo', 3, false]);
  });

  test.each<[string, Frame[]]>([
    ['begins with a continuation', [more(3)]],
    ['goes on in another stream', [headers, more(5)]],
    ['is interrupted by another block', [headers, headers]],
    ['belongs to the connection', [read(formatFrame(FrameType.headers, Flag.endHeaders, 0, Buffer.from('x')))]],
    ['never ends', [headers, ...Array.from({ length: 30_000 }, () => more(3))]],
  ])('that %s ends the connection', (_name, frames) => {
    const reader = new HeaderBlockReader();
    expect(() => frames.forEach((frame) => reader.take(frame))).toThrow(ConnectionError);
  });
});

describe('settings', () => {
  const parse = (...pairs: [number, number][]): Map<number, number> =>
    parseSettings(read(formatSettings(new Map(pairs))));

  test('towards the runtime forbid a header table and bound the frames', () => {
    expect([...limitSettingsTowardsRuntime(parse([1, 65_536], [4, 100], [5, 1_000_000], [99, 7]))]).toEqual([
      [1, 0],
      [4, 100],
      [5, 65_536],
      [99, 7],
    ]);
    expect([...limitSettingsTowardsRuntime(parse())]).toEqual([[1, 0]]);
  });

  test('towards the kubelet bound table, frames and streams', () => {
    expect([...limitSettingsTowardsKubelet(parse([1, 1_000_000], [3, 0xffffffff], [6, 9]), false)]).toEqual([
      [1, 65_536],
      [3, 8192],
      [6, 9],
    ]);
    expect([...limitSettingsTowardsKubelet(parse(), true)]).toEqual([[3, 8192]]);
    expect([...limitSettingsTowardsKubelet(parse([3, 100]), true)]).toEqual([[3, 100]]);
    expect([...limitSettingsTowardsKubelet(parse(), false)]).toEqual([]);
  });

  test.each([
    ['a length that is no multiple of 6', formatFrame(FrameType.settings, 0, 0, Buffer.alloc(5))],
    ['a stream', formatFrame(FrameType.settings, 0, 1, Buffer.alloc(6))],
    ['an initial window beyond 2^31-1', formatSettings(new Map([[4, 0x80000000]]))],
  ])('with %s end the connection', (_name, bytes) => {
    expect(() => parseSettings(read(bytes))).toThrow(ConnectionError);
  });
});

test('messages come out the same however their bytes are split, the long ones reported and skipped', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 60 })),
      fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 1 }),
      (lengths, cuts) => {
        const bytes = Buffer.concat(
          lengths.map((length, n) => Buffer.concat([Buffer.from([n % 2, 0, 0, 0, length]), Buffer.alloc(length, n)])),
        );
        const tooLong: number[] = [];
        const assembler = new MessageAssembler(50, (length) => tooLong.push(length));
        const boundary = new MessageBoundary();
        const got: string[] = [];
        for (let at = 0, cut = 0; at < bytes.length; cut++) {
          const piece = bytes.subarray(at, (at += cuts[cut % cuts.length]! + 1));
          got.push(
            ...assembler
              .push(piece)
              .map(({ isCompressed, bytes: message }) => `${isCompressed} ${message.toString('hex')}`),
          );
          boundary.advance(piece);
          expect(boundary.isAtBoundary).toBe(assembler.isAtBoundary);
        }
        expect(boundary.isAtBoundary).toBe(true);
        expect(got).toEqual(
          lengths.flatMap((length, n) =>
            length > 50 ? [] : [`${n % 2 === 1} ${Buffer.alloc(length, n).toString('hex')}`],
          ),
        );
        expect(tooLong).toEqual(lengths.filter((length) => length > 50));
      },
    ),
    { seed: 11, numRuns: 300 },
  );
});

test('flow control keeps the kubelet’s view in step, whatever is forwarded, held, sent of our own and credited', () => {
  const step = fc.record({
    kind: fc.constantFrom('forward', 'hold', 'sendOwn', 'credit', 'endTurn'),
    bytes: fc.integer({ min: 1, max: 20_000 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const flow = new FlowControl();
      let runtime = 65_535;
      let kubelet = 65_535;
      let credited = 0;
      let sent = 0;
      for (const { kind, bytes } of steps) {
        if (kind === 'forward' && bytes <= Math.min(kubelet, runtime)) {
          flow.forward(bytes);
          runtime -= bytes;
          kubelet -= bytes;
          sent += bytes;
        } else if (kind === 'hold' && bytes <= kubelet) {
          flow.hold(bytes);
          kubelet -= bytes;
        } else if (kind === 'sendOwn' && bytes <= runtime) {
          flow.sendOwn(bytes);
          runtime -= bytes;
          sent += bytes;
        } else if (kind === 'credit' && credited + bytes <= sent) {
          credited += bytes;
          runtime += bytes;
          kubelet += flow.credit(bytes);
        } else if (kind === 'endTurn') {
          kubelet += flow.takeDeficit();
          expect(kubelet).toBeGreaterThanOrEqual(runtime);
        }
        expect(flow.availableBytes).toBe(runtime);
      }
      kubelet += flow.takeDeficit();
      const excess = kubelet - runtime;
      // Window updates of the runtime compensate the excess first, and only the rest is forwarded.
      const owed = sent - credited;
      expect(flow.credit(owed)).toBe(owed - Math.min(owed, excess));
    }),
    { seed: 3, numRuns: 500 },
  );
});
