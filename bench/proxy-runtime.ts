// Stands in for the runtime in bench/proxy: answers Version-like and ListContainers-like calls with bytes made
// beforehand. `grpc-js` is a real gRPC server; `frames` answers on the level of HTTP/2 frames, so that its own cost is
// small.
import * as grpc from '@grpc/grpc-js';
import { createServer } from 'node:net';
import {
  DEFAULT_MAX_FRAME_BYTES,
  Flag,
  formatFrame,
  FrameType,
  hasFlag,
  type Frame,
} from '../src/cri/proxy/http2/frame';
import { FrameReader } from '../src/cri/proxy/http2/frame-reader';
import { HpackDecoder } from '../src/cri/proxy/http2/hpack-decoder';
import { encodeHeaders } from '../src/cri/proxy/http2/hpack-encoder';

const answers: Readonly<Record<string, Buffer>> = {
  Version: Buffer.alloc(60, 7),
  ListContainers: Buffer.alloc(70_000, 7),
  CreateContainer: Buffer.alloc(66, 7),
};

const [kind, path] = process.argv.slice(2) as [string, string];
if (kind === 'grpc-js') serveGrpcJs(path);
else serveFrames(path);

function serveGrpcJs(socketPath: string): void {
  const identity = (bytes: Buffer): Buffer => bytes;
  const server = new grpc.Server({ 'grpc.max_receive_message_length': -1 });
  const methods = Object.keys(answers).map((name) => [
    name,
    {
      path: `/runtime.v1.RuntimeService/${name}`,
      requestStream: false,
      responseStream: false,
      requestSerialize: identity,
      requestDeserialize: identity,
      responseSerialize: identity,
      responseDeserialize: identity,
    },
  ]);
  const handlers = Object.entries(answers).map(([name, answer]) => [
    name,
    (_call: unknown, done: grpc.sendUnaryData<Buffer>) => done(null, answer),
  ]);
  server.addService(
    Object.fromEntries(methods) as grpc.ServiceDefinition,
    Object.fromEntries(handlers) as grpc.UntypedServiceImplementation,
  );
  server.bindAsync(`unix:${socketPath}`, grpc.ServerCredentials.createInsecure(), () => process.send?.('ready'));
}

function serveFrames(socketPath: string): void {
  const head = encodeHeaders([
    [':status', '200'],
    ['content-type', 'application/grpc'],
  ]);
  const trailers = encodeHeaders([['grpc-status', '0']]);
  createServer((socket) => {
    const reader = new FrameReader({ expectPreface: true });
    const decoder = new HpackDecoder();
    const paths = new Map<number, string>();
    // A window so large that credit is no matter here; the client of this bench grants the same.
    socket.write(formatFrame(FrameType.settings, 0, 0, Uint8Array.from([0, 4, 0x7f, 0xff, 0xff, 0xff])));
    socket.write(formatFrame(FrameType.windowUpdate, 0, 0, Uint8Array.from([0x7f, 0, 0, 0])));
    const take = (frame: Frame): void => {
      if (frame.type === FrameType.settings && !hasFlag(frame, Flag.ack))
        socket.write(formatFrame(FrameType.settings, Flag.ack, 0, new Uint8Array()));
      if (frame.type === FrameType.headers) {
        const fields = decoder.decode(frame.buffer.subarray(frame.start + 9, frame.end));
        paths.set(frame.streamId, fields.find(([name]) => name === ':path')?.[1].split('/')[2] ?? '');
      }
      if (frame.type !== FrameType.data || !hasFlag(frame, Flag.endStream)) return;
      const answer = answers[paths.get(frame.streamId) ?? ''] ?? Buffer.alloc(0);
      paths.delete(frame.streamId);
      const prefix = Buffer.alloc(5);
      prefix.writeUInt32BE(answer.length, 1);
      const body = Buffer.concat([prefix, answer]);
      const frames = [formatFrame(FrameType.headers, Flag.endHeaders, frame.streamId, head)];
      for (let at = 0; at < body.length; at += DEFAULT_MAX_FRAME_BYTES) {
        frames.push(formatFrame(FrameType.data, 0, frame.streamId, body.subarray(at, at + DEFAULT_MAX_FRAME_BYTES)));
      }
      frames.push(formatFrame(FrameType.headers, Flag.endHeaders | Flag.endStream, frame.streamId, trailers));
      socket.write(Buffer.concat(frames));
    };
    socket.on('data', (chunk) => {
      socket.cork();
      reader.feed(chunk, take);
      socket.uncork();
    });
    socket.on('error', () => undefined);
  }).listen(socketPath, () => process.send?.('ready'));
}
