import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { MemoryBudget } from '../../../src/cri/proxy/memory-budget';
import { CLIENT_PREFACE, Flag, formatFrame, FrameType } from '../../../src/cri/proxy/http2/frame';
import { encodeHeaders } from '../../../src/cri/proxy/http2/hpack-encoder';
import { ProxyConnection } from '../../../src/cri/proxy/connection/proxy-connection';

export const maxBytes = 8_192;

const PATH = '/runtime.v1.RuntimeService/CreateContainer';
const MAX_HELD_BYTES = 65_536;

const settings = formatFrame(FrameType.settings, 0, 0, new Uint8Array());
const message = Buffer.from([0, 0, 0, 0, 3, 1, 2, 3]);
const request = (path: string): Buffer =>
  Buffer.concat([
    formatFrame(
      FrameType.headers,
      Flag.endHeaders,
      1,
      encodeHeaders([
        [':method', 'POST'],
        [':path', path],
        ['content-type', 'application/grpc'],
      ]),
    ),
    formatFrame(FrameType.data, Flag.endStream, 1, message),
  ]);
const answer = Buffer.concat([
  formatFrame(FrameType.headers, Flag.endHeaders, 1, encodeHeaders([[':status', '200']])),
  formatFrame(FrameType.data, 0, 1, message),
  formatFrame(FrameType.headers, Flag.endHeaders | Flag.endStream, 1, encodeHeaders([['grpc-status', '0']])),
]);

export const seeds = (): readonly Uint8Array[] =>
  [PATH, '/runtime.v1.RuntimeService/Version'].map((path) =>
    Buffer.concat([
      turn('kubelet', Buffer.concat([CLIENT_PREFACE, settings])),
      turn('runtime', settings),
      turn('kubelet', request(path)),
      turn('runtime', answer),
    ]),
  );

/**
 * Any bytes of both sides, in any order and any pieces, can only end connections; no more bytes are held than allowed.
 */
export async function fuzz(data: Buffer): Promise<void> {
  const held = new MemoryBudget(MAX_HELD_BYTES);
  const [kubelet, runtime] = [standIn(), standIn()];
  const relay = new ProxyConnection(
    kubelet,
    runtime,
    {
      interceptors: new Map([[PATH, { onRequest: (bytes) => bytes, onResponse: () => undefined }]]),
      maxMessageBytes: 4_096,
      held,
      open: new MemoryBudget(MAX_HELD_BYTES),
      reportFault: () => undefined,
      endlessPaths: new Set(),
    },
    { onRuntimeGone: () => undefined, onUse: () => undefined },
  );
  relay.start();
  for (const { side, bytes } of cut(data)) {
    const socket = side === 'kubelet' ? kubelet : runtime;
    if (!socket.destroyed) socket.emit('data', bytes);
    await Promise.resolve(); // lets the interceptors of calls run
    if (held.used > MAX_HELD_BYTES || held.used < 0) throw new Error(`${held.used} bytes are held back`);
  }
  for (const socket of [kubelet, runtime]) socket.destroy();
  if (relay.callsInFlight > 0) throw new Error('calls outlive their connection');
}

/** A fake socket with the methods that a relay uses. */
function standIn(): Socket {
  let paused = false;
  const socket = Object.assign(new EventEmitter(), {
    destroyed: false,
    writable: true,
    writableNeedDrain: false,
    writableLength: 0,
    write: () => true,
    cork: () => undefined,
    uncork: () => undefined,
    resume: () => (paused = false),
    pause: () => (paused = true),
    isPaused: () => paused,
    end: () => socket.destroy(),
    destroy: () => {
      if (socket.destroyed) return;
      socket.destroyed = true;
      socket.writable = false;
      socket.emit('close');
    },
  });
  return socket as unknown as Socket;
}

/**
 * The encoding of one side's bytes in an input: two bytes of length, with the side in the highest bit, then the bytes.
 */
function turn(side: 'kubelet' | 'runtime', bytes: Buffer): Buffer {
  const head = Buffer.alloc(2);
  head.writeUInt16BE(bytes.length | (side === 'runtime' ? 0x8000 : 0));
  return Buffer.concat([head, bytes]);
}

function* cut(data: Buffer): Generator<{ side: 'kubelet' | 'runtime'; bytes: Buffer }> {
  for (let at = 0; at + 2 <= data.length;) {
    const head = data.readUInt16BE(at);
    const begin = at + 2;
    at = begin + (head & 0x7fff);
    yield { side: head & 0x8000 ? 'runtime' : 'kubelet', bytes: data.subarray(begin, at) };
  }
}
