import type { Socket } from 'node:net';
import { CLIENT_PREFACE, DEFAULT_MAX_FRAME_BYTES, FRAME_HEAD_BYTES } from '../http2/frame';

/**
 * Waits until a client has begun its connection: preface and first SETTINGS (RFC 9113 §3.4), or bytes that can't become
 * those. The bytes stay in the socket, which is paused. False when the client closed or `timeoutMs` passed before; then
 * the socket is destroyed.
 */
export function awaitOpening(socket: Socket, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    let seen: Buffer = Buffer.alloc(0);
    const finish = (hasBegun: boolean): void => {
      clearTimeout(timer);
      socket.off('data', take);
      socket.off('close', give);
      if (!hasBegun) {
        socket.destroy();
      } else {
        socket.pause();
        socket.unshift(seen);
      }
      resolve(hasBegun);
    };
    const take = (chunk: Buffer): void => {
      seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
      if (isOpening(seen)) finish(true);
    };
    const give = (): void => finish(false);
    const timer = setTimeout(give, timeoutMs);
    socket.on('data', take);
    socket.once('close', give);
    if (socket.destroyed) give();
    else socket.resume();
  });
}

/** True when preface and a whole frame are there, or bytes that need an error as the answer. */
function isOpening(seen: Buffer): boolean {
  const prefaceBytes = Math.min(seen.length, CLIENT_PREFACE.length);
  if (CLIENT_PREFACE.compare(seen, 0, prefaceBytes, 0, prefaceBytes) !== 0) return true;
  if (seen.length < CLIENT_PREFACE.length + FRAME_HEAD_BYTES) return false;
  const payloadBytes = seen.readUIntBE(CLIENT_PREFACE.length, 3);
  return (
    payloadBytes > DEFAULT_MAX_FRAME_BYTES || seen.length >= CLIENT_PREFACE.length + FRAME_HEAD_BYTES + payloadBytes
  );
}
