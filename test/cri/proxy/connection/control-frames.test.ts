import type { ConnectionContext } from '../../../../src/cri/proxy/connection/connection-context';
import { ControlFrames, settingsAck } from '../../../../src/cri/proxy/connection/control-frames';
import type { RequestPath } from '../../../../src/cri/proxy/connection/request-path';
import { Flag, formatPing, FrameType, type Frame } from '../../../../src/cri/proxy/http2/frame';
import { FrameReader } from '../../../../src/cri/proxy/http2/frame-reader';
import { formatSettings } from '../../../../src/cri/proxy/http2/settings';

/** The one frame in these bytes. */
const frameOf = (buffer: Buffer): Frame => ({
  type: buffer[3]!,
  flags: buffer[4]!,
  streamId: 0,
  buffer,
  start: 0,
  end: buffer.length,
});

/** Records the forwarded frames, and those of the proxy itself, by their type. */
function recordWriter() {
  const frames: Buffer[] = [];
  return { frames, pass: ({ buffer }: Frame) => frames.push(buffer), send: (bytes: Buffer) => frames.push(bytes) };
}

function setUp() {
  const [toKubelet, toRuntime] = [recordWriter(), recordWriter()];
  const context = { toKubelet, toRuntime } as unknown as ConnectionContext;
  const requests = { allowTableBytes: jest.fn(), sender: { setInitialWindow: jest.fn() } } as unknown as RequestPath;
  const reader = () => new FrameReader({ expectPreface: false });
  return { control: new ControlFrames(context, requests, reader(), reader()), toKubelet, toRuntime };
}

const ping = (byte: number, ack = false) => formatPing(Buffer.alloc(8, byte), ack);
const settings = () => formatSettings(new Map());
const typesOf = (frames: readonly Buffer[]) => frames.map((frame) => [frame[3], frame[4]]);

test('SETTINGS and PING of each side are forwarded to the other', () => {
  const { control, toKubelet, toRuntime } = setUp();
  control.takeKubeletSettings(frameOf(settings()));
  control.takeRuntimeSettings(frameOf(settings()));
  control.takeKubeletPing(frameOf(ping(1)));
  control.takeRuntimePing(frameOf(ping(1, true)));
  expect(typesOf(toRuntime.frames)).toEqual([
    [FrameType.settings, 0],
    [FrameType.ping, 0],
  ]);
  expect(typesOf(toKubelet.frames)).toEqual([
    [FrameType.settings, 0],
    [FrameType.ping, Flag.ack],
  ]);
  expect(control.hasRuntimeSettings).toBe(true);
});

test('given a runtime that is gone, then the proxy answers open SETTINGS and PINGs, and no answered ones', () => {
  const { control, toKubelet } = setUp();
  for (let i = 0; i < 2; i++) control.takeKubeletSettings(frameOf(settings()));
  control.takeRuntimeSettings(frameOf(settings()));
  control.takeRuntimeSettings(frameOf(settingsAck()));
  for (const byte of [1, 2]) control.takeKubeletPing(frameOf(ping(byte)));
  control.takeRuntimePing(frameOf(ping(1, true)));
  toKubelet.frames.length = 0;
  control.answerOpen();
  control.answerOpen();
  expect(toKubelet.frames).toEqual([settingsAck(), ping(2, true)]);
});

test('given a runtime that is gone before its first SETTINGS, then the proxy sends SETTINGS of its own first', () => {
  const { control, toKubelet } = setUp();
  control.takeKubeletSettings(frameOf(settings()));
  control.answerOpen();
  expect(typesOf(toKubelet.frames)).toEqual([
    [FrameType.settings, 0],
    [FrameType.settings, Flag.ack],
  ]);
});

test('given a flood of PINGs, then only the last 16 are kept for an answer', () => {
  const { control, toKubelet } = setUp();
  control.takeRuntimeSettings(frameOf(settings()));
  for (let byte = 0; byte < 20; byte++) control.takeKubeletPing(frameOf(ping(byte)));
  toKubelet.frames.length = 0;
  control.answerOpen();
  expect(toKubelet.frames).toEqual(Array.from({ length: 16 }, (_, i) => ping(i + 4, true)));
});

test('given a PING without 8 bytes, then it is an error of the connection', () => {
  const { control } = setUp();
  const short = Buffer.concat([ping(1).subarray(0, 9), Buffer.alloc(7)]);
  expect(() => control.takeKubeletPing(frameOf(short))).toThrow('a PING without 8 bytes');
});
