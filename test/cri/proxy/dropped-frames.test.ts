import * as http2 from 'node:http2';
import { connect, createServer, type Socket } from 'node:net';
import {
  Flag,
  formatFrame,
  formatPing,
  formatRstStream,
  FrameType,
  hasFlag,
  readUInt31,
  type Frame,
} from '../../../src/cri/proxy/http2/frame';
import { FrameReader } from '../../../src/cri/proxy/http2/frame-reader';
import { encodeHeaders } from '../../../src/cri/proxy/http2/hpack-encoder';
import { Bench } from './harness';
import { waitUntil } from '../../support/wait-until';

// Frames that a runtime sends for an ended call are dropped, and the window of its connection does not shrink.

const path = '/runtime.v1.RuntimeService/CreateContainer';
const head = encodeHeaders([
  [':status', '200'],
  ['content-type', 'application/grpc'],
]);

let bench: Bench;
let runtime: Socket | undefined;
let frames: Frame[];
beforeEach(() => {
  bench = new Bench();
  frames = [];
  const server = createServer((socket) => {
    runtime = socket;
    const reader = new FrameReader({ expectPreface: true });
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) =>
      reader.feed(chunk, (frame) => {
        frames.push(frame);
        if (frame.type === FrameType.ping)
          socket.write(formatPing(frame.buffer.subarray(frame.start + 9, frame.end), true));
        if (frame.type === FrameType.settings && !hasFlag(frame, Flag.ack))
          socket.write(formatFrame(FrameType.settings, Flag.ack, 0, new Uint8Array()));
      }),
    );
    socket.write(formatFrame(FrameType.settings, 0, 0, new Uint8Array()));
  }).listen(bench.runtimePath);
  bench.onClose(() => (server.close(), runtime?.destroy()));
});
afterEach(() => bench.close());

const creditOfConnection = (): number =>
  frames
    .filter((frame) => frame.type === FrameType.windowUpdate && frame.streamId === 0)
    .reduce((sum, frame) => sum + readUInt31(frame, 0), 0);
const has = (type: number, streamId: number): boolean =>
  frames.some((frame) => frame.type === type && frame.streamId === streamId);

function openCall(): { request: http2.ClientHttp2Stream; session: http2.ClientHttp2Session } {
  const session = http2.connect('http://localhost', { createConnection: () => connect(bench.proxyPath) });
  session.on('error', (err) => bench.faults.push(err));
  bench.onClose(() => session.destroy());
  const request = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  request.on('error', () => undefined);
  request.resume();
  request.end(Buffer.from([0, 0, 0, 0, 1, 7]));
  return { request, session };
}

test.each(['passes', 'is refused'])('a call that %s, and is over when the answer comes', async (how) => {
  const refuse = { refuse: { code: 9, reason: 'TEST', message: 'no' } };
  await bench.startProxy(how === 'passes' ? {} : { [path]: { onRequest: () => refuse } });
  const { request, session } = openCall();
  if (how === 'passes') {
    await waitUntil(() => has(FrameType.data, 1));
    request.close(http2.constants.NGHTTP2_CANCEL);
  }
  await waitUntil(() => has(FrameType.rstStream, 1));
  expect(has(FrameType.data, 1)).toBe(how === 'passes');
  for (const frame of [
    formatFrame(FrameType.headers, Flag.endHeaders, 1, head),
    formatFrame(FrameType.data, 0, 1, Buffer.alloc(1000)),
    formatFrame(FrameType.headers, Flag.endHeaders | Flag.endStream, 1, encodeHeaders([['grpc-status', '0']])),
    formatRstStream(1, 0),
  ]) {
    runtime!.write(frame);
  }
  await waitUntil(() => creditOfConnection() === 1000);
  // The client's library would end its session on frames for a closed stream; a ping shows that it still works.
  await new Promise((resolve) => session.ping(resolve as () => void));
  expect(bench.faults).toEqual([]);
});

test('a call that is cancelled while a hook looks at its answer', async () => {
  let isBusy = false;
  const release: (() => void)[] = [];
  await bench.startProxy({
    [path]: {
      onResponse: () =>
        new Promise<void>((resolve) => {
          isBusy = true;
          release.push(resolve);
        }),
    },
  });
  const { request, session } = openCall();
  await waitUntil(() => has(FrameType.data, 1));
  runtime!.write(formatFrame(FrameType.headers, Flag.endHeaders, 1, head));
  runtime!.write(formatFrame(FrameType.data, 0, 1, Buffer.from([0, 0, 0, 0, 1, 1])));
  runtime!.write(formatFrame(FrameType.data, 0, 1, Buffer.from([0, 0, 0, 0, 1, 2])));
  await waitUntil(() => isBusy);
  request.close(http2.constants.NGHTTP2_CANCEL);
  await waitUntil(() => creditOfConnection() === 12);
  for (const each of release) each();
  await new Promise((resolve) => session.ping(resolve as () => void));
  expect(bench.faults).toEqual([]);
});
