import { FrameDecoder, FrameError } from '../../src/wire/frame';
import { MessageDecoder } from '../../src/wire/message';
import { cut, frame, message } from './support/bytes';

/** The events of a decoder, one line each. */
function decodeFrames(bytes: Buffer, pieceSize: number, limit = 1000): string[] {
  const events: string[] = [];
  let payload = '';
  const decoder = new FrameDecoder(
    {
      onFrame: (id) => {
        events.push(`frame ${id}`);
        payload = '';
      },
      onPayload: (chunk, start, end) => {
        payload += chunk.toString('latin1', start, end);
        events[events.length - 1] = `${events.at(-1)!.split(':')[0]!}: ${payload}`;
        return true;
      },
    },
    limit,
  );
  for (const [start, end] of cut(bytes, pieceSize)) expect(decoder.feed(bytes, start, end)).toBe(end);
  events.push(decoder.isBetweenFrames ? 'between frames' : 'in a frame');
  return events;
}

describe.each([1, 2, 7, 8, 9, 1000])('frames in pieces of %i bytes', (pieceSize) => {
  const hello = frame(1, Buffer.from('hello'));
  test.each`
    name                               | bytes                                                                           | events
    ${'one frame'}                     | ${hello}                                                                        | ${['frame 1: hello', 'between frames']}
    ${'the highest id'}                | ${frame(0xffffffff, Buffer.from('x'))}                                          | ${['frame 4294967295: x', 'between frames']}
    ${'frames of length 0'}            | ${Buffer.concat([frame(2, Buffer.alloc(0)), frame(3, Buffer.alloc(0)), hello])} | ${['frame 2', 'frame 3', 'frame 1: hello', 'between frames']}
    ${'frames of one byte'}            | ${Buffer.concat([frame(1, Buffer.from('a')), frame(2, Buffer.from('b'))])}      | ${['frame 1: a', 'frame 2: b', 'between frames']}
    ${'a frame of the longest length'} | ${frame(1, Buffer.alloc(1000, 'a'))}                                            | ${[`frame 1: ${'a'.repeat(1000)}`, 'between frames']}
    ${'a frame that is cut off'}       | ${hello.subarray(0, 11)}                                                        | ${['frame 1: hel', 'in a frame']}
    ${'a header that is cut off'}      | ${Buffer.concat([hello, hello.subarray(0, 3)])}                                 | ${['frame 1: hello', 'in a frame']}
    ${'nothing'}                       | ${Buffer.alloc(0)}                                                              | ${['between frames']}
  `('$name', ({ bytes, events }: { bytes: Buffer; events: string[] }) => {
    expect(decodeFrames(bytes, pieceSize)).toEqual(events);
  });

  test.each([1001, 0x7fffffff, 0x80000000, 0xffffffff])('a frame of %i bytes is refused at its header', (announced) => {
    expect(() => decodeFrames(frame(1, Buffer.alloc(0), announced), pieceSize)).toThrow(FrameError);
  });
});

test('a frame that the receiver pauses is continued at the same byte', () => {
  const bytes = Buffer.concat([frame(1, Buffer.from('abc')), frame(2, Buffer.from('def'))]);
  const taken: string[] = [];
  let wanted = false;
  let current = 0;
  const decoder = new FrameDecoder(
    {
      onFrame: (id) => (current = id),
      onPayload: (chunk, start, end) => {
        if (current === 2 && !wanted) return false;
        taken.push(chunk.toString('latin1', start, end));
        return true;
      },
    },
    1000,
  );
  const stoppedAt = decoder.feed(bytes, 0, bytes.length);
  expect([stoppedAt, taken]).toEqual([19, ['abc']]);
  expect(decoder.feed(bytes, stoppedAt, bytes.length)).toBe(19);
  wanted = true;
  expect(decoder.feed(bytes, stoppedAt, bytes.length)).toBe(bytes.length);
  expect(taken).toEqual(['abc', 'def']);
});

function decodeMessages(bytes: Buffer, pieceSize: number, limit = 1000): string[] {
  const events: string[] = [];
  const decoder = new MessageDecoder(
    {
      onMessage: (type, id, data, start, end) => events.push(`${type} ${id} ${data.toString('latin1', start, end)}`),
      onOversized: (type, id, length) => events.push(`${type} ${id} has ${length}`),
    },
    limit,
  );
  for (const [start, end] of cut(bytes, pieceSize)) decoder.feed(bytes, start, end);
  return events;
}

describe.each([1, 3, 9, 10, 11, 5000])('messages in pieces of %i bytes', (pieceSize) => {
  const hello = message(1, 1, Buffer.from('hello'));
  test.each`
    name                                        | bytes                                                                                    | events
    ${'one message'}                            | ${hello}                                                                                 | ${['1 1 hello']}
    ${'one without data'}                       | ${message(3, 2, Buffer.alloc(0))}                                                        | ${['2 3 ']}
    ${'of an unknown type'}                     | ${message(3, 200, Buffer.from('x'))}                                                     | ${['200 3 x']}
    ${'several'}                                | ${Buffer.concat([hello, message(3, 2, Buffer.alloc(0)), hello])}                         | ${['1 1 hello', '2 3 ', '1 1 hello']}
    ${'of the longest length'}                  | ${message(1, 1, Buffer.alloc(1000, 'a'))}                                                | ${[`1 1 ${'a'.repeat(1000)}`]}
    ${'too long, skipped; the next one counts'} | ${Buffer.concat([message(1, 1, Buffer.alloc(1001)), hello])}                             | ${['1 1 has 1001', '1 1 hello']}
    ${'too long twice'}                         | ${Buffer.concat([message(1, 1, Buffer.alloc(2000)), message(3, 2, Buffer.alloc(1001))])} | ${['1 1 has 2000', '2 3 has 1001']}
    ${'cut off in the header'}                  | ${hello.subarray(0, 9)}                                                                  | ${[]}
    ${'cut off in the data'}                    | ${hello.subarray(0, 14)}                                                                 | ${[]}
    ${'a message announced with 4 GiB'}         | ${message(1, 1, Buffer.alloc(100), 0xffffffff)}                                          | ${['1 1 has 4294967295']}
  `('$name', ({ bytes, events }: { bytes: Buffer; events: string[] }) => {
    expect(decodeMessages(bytes, pieceSize)).toEqual(events);
  });
});

test('a long message in pieces is joined', () => {
  const data = Buffer.alloc(3_000_001, 'abcdefg');
  const received: Buffer[] = [];
  const decoder = new MessageDecoder(
    { onMessage: (_type, _id, buffer, start, end) => received.push(buffer.subarray(start, end)), onOversized: fail },
    64 << 20,
  );
  const bytes = message(1, 1, data);
  for (const [start, end] of cut(bytes, 65_536, 100)) decoder.feed(bytes, start, end);
  expect(received).toHaveLength(1);
  expect(received[0]!.equals(data)).toBe(true);
});

test('memory is used for received bytes, not for announced ones', () => {
  const before = process.memoryUsage().arrayBuffers;
  const decoders = Array.from(
    { length: 500 },
    () => new MessageDecoder({ onMessage: fail, onOversized: fail }, 64 << 20),
  );
  const start = message(1, 1, Buffer.alloc(100), 64 << 20);
  for (const decoder of decoders) decoder.feed(start, 0, start.length);
  expect(decoders).toHaveLength(500);
  // 500 × 64 MiB were announced; 500 × 64 KiB is what they may hold.
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(500 * (80 << 10));
});

function fail(): never {
  throw new Error('not expected');
}
