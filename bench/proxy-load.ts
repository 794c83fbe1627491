import * as grpc from '@grpc/grpc-js';
import { connect } from 'node:net';
import {
  CLIENT_PREFACE,
  Flag,
  formatFrame,
  formatWindowUpdate,
  FrameType,
  hasFlag,
  payloadLength,
  type Frame,
} from '../src/cri/proxy/http2/frame';
import { FrameReader } from '../src/cri/proxy/http2/frame-reader';
import { encodeHeaders } from '../src/cri/proxy/http2/hpack-encoder';

/** A client of bench/proxy: calls one method of the runtime service, resolves when the status has come. */
export interface Caller {
  call(method: string, message: Buffer): Promise<void>;
  close(): void;
}

/** The real client library. */
export function openGrpcJs(socketPath: string): Caller {
  const identity = (bytes: Buffer): Buffer => bytes;
  const client = new grpc.Client(`unix:${socketPath}`, grpc.credentials.createInsecure(), {
    'grpc.max_receive_message_length': -1,
    'grpc.use_local_subchannel_pool': 1,
  });
  return {
    call: (method, message) =>
      new Promise((resolve, reject) => {
        client.makeUnaryRequest(`/runtime.v1.RuntimeService/${method}`, identity, identity, message, (err) => {
          if (err === null) resolve();
          else reject(err);
        });
      }),
    close: () => client.close(),
  };
}

/** A client on the level of HTTP/2 frames: costs little, so that more of the machine is left to the proxy. */
export function openFrames(socketPath: string): Promise<Caller> {
  const socket = connect(socketPath);
  const reader = new FrameReader({ expectPreface: false });
  const open = new Map<number, (hasAnswer: boolean) => void>();
  const answered = new Set<number>();
  const blocks = new Map<string, Buffer>();
  let nextStreamId = 1;
  let owedBytes = 0;
  let queued: Buffer[] = [];
  const send = (bytes: Buffer): void => {
    if (queued.push(bytes) > 1) return;
    setImmediate(() => {
      socket.write(Buffer.concat(queued));
      queued = [];
    });
  };
  socket.write(CLIENT_PREFACE);
  socket.write(formatFrame(FrameType.settings, 0, 0, Uint8Array.from([0, 4, 0x7f, 0xff, 0xff, 0xff])));
  socket.write(formatWindowUpdate(0, 1_000_000_000));
  const take = (frame: Frame): void => {
    if (frame.type === FrameType.settings && !hasFlag(frame, Flag.ack))
      send(formatFrame(FrameType.settings, Flag.ack, 0, new Uint8Array()));
    if (frame.type === FrameType.ping && !hasFlag(frame, Flag.ack))
      send(formatFrame(FrameType.ping, Flag.ack, 0, frame.buffer.subarray(frame.start + 9, frame.end)));
    if (frame.type === FrameType.data) {
      owedBytes += payloadLength(frame);
      answered.add(frame.streamId);
    }
    if (owedBytes > 100_000_000) {
      send(formatWindowUpdate(0, owedBytes));
      owedBytes = 0;
    }
    if (frame.type === FrameType.headers && hasFlag(frame, Flag.endStream)) {
      open.get(frame.streamId)?.(answered.delete(frame.streamId));
      open.delete(frame.streamId);
    }
  };
  socket.on('data', (chunk) => reader.feed(chunk, take));
  const blockOf = (method: string): Buffer =>
    encodeHeaders([
      [':method', 'POST'],
      [':scheme', 'http'],
      [':path', `/runtime.v1.RuntimeService/${method}`],
      [':authority', 'localhost'],
      ['content-type', 'application/grpc'],
      ['user-agent', 'bench'],
      ['te', 'trailers'],
    ]);
  const caller: Caller = {
    call: (method, message) =>
      new Promise((resolve, reject) => {
        const block = blocks.get(method) ?? blockOf(method);
        blocks.set(method, block);
        const id = nextStreamId;
        nextStreamId += 2;
        open.set(id, (hasAnswer) => (hasAnswer ? resolve() : reject(new Error(`${method} has failed`))));
        const body = Buffer.alloc(5 + message.length);
        body.writeUInt32BE(message.length, 1);
        message.copy(body, 5);
        send(
          Buffer.concat([
            formatFrame(FrameType.headers, Flag.endHeaders, id, block),
            formatFrame(FrameType.data, Flag.endStream, id, body),
          ]),
        );
      }),
    close: () => socket.destroy(),
  };
  return new Promise((resolve) => socket.once('connect', () => resolve(caller)));
}
