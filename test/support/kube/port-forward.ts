import { createHash } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

// The server's side of a forwarded port over a WebSocket, as the kubelet has it (subprotocol v4.channel.k8s.io).

/** Answers the upgrade. `more`: what is sent in the same piece. */
export function answerUpgrade(connection: Duplex, key: string, more = Buffer.alloc(0)): void {
  const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  const head = [
    ...['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade'],
    ...[`Sec-WebSocket-Accept: ${accept}`, 'Sec-WebSocket-Protocol: v4.channel.k8s.io', '', ''],
  ];
  connection.write(Buffer.concat([Buffer.from(head.join('\r\n')), more]));
}

/**
 * Answers the upgrade, and joins the connection with a port of this machine. Without a port, the client is told an
 * error.
 */
export function servePortForward(connection: Duplex, key: string, port: number | undefined, asked: number): void {
  answerUpgrade(connection, key);
  const send = (channel: number, content: Buffer): void => {
    if (connection.writable) connection.write(frameOf(2, Buffer.concat([Buffer.of(channel), content])));
  };
  const number = Buffer.alloc(2);
  number.writeUInt16LE(asked);
  send(0, number);
  send(1, number);
  connection.write(frameOf(9, Buffer.from('ping')));
  const fail = (): void =>
    send(1, Buffer.from(`failed to connect to localhost:${asked} inside namespace: connection refused`));
  if (port === undefined) return fail();
  const target: Socket = connect(port, '127.0.0.1');
  target.on('data', (chunk) => {
    // In small frames, and in fragments, so that both are read.
    for (let at = 0; at < chunk.length; at += 1_000) send(0, chunk.subarray(at, at + 1_000));
  });
  target.once('error', fail);
  target.once('close', () => connection.end(frameOf(8, Buffer.alloc(0))));
  connection.once('close', () => target.destroy());
  connection.once('error', () => target.destroy());
  let unread = Buffer.alloc(0);
  connection.on('data', (chunk: Buffer) => {
    unread = Buffer.concat([unread, chunk]);
    for (let frame = readMasked(unread); frame; frame = readMasked(unread)) {
      unread = unread.subarray(frame.length);
      if (frame.opcode === 2 && frame.payload[0] === 0) target.write(frame.payload.subarray(1));
    }
  });
}

function frameOf(opcode: number, payload: Buffer): Buffer {
  const { length } = payload;
  const head =
    length < 126 ? Buffer.of(0x80 | opcode, length) : Buffer.of(0x80 | opcode, 126, length >> 8, length & 255);
  return Buffer.concat([head, payload]);
}

/** A client has to mask its frames. */
function readMasked(bytes: Buffer): { opcode: number; payload: Buffer; length: number } | undefined {
  if (bytes.length < 6) return undefined;
  if ((bytes[1]! & 0x80) === 0) throw new Error('the frame of the client is not masked');
  const short = bytes[1]! & 0x7f;
  const start = short === 126 ? 4 : 2;
  const size = short === 126 ? bytes.readUInt16BE(2) : short;
  const length = start + 4 + size;
  if (bytes.length < length) return undefined;
  const key = bytes.subarray(start, start + 4);
  const payload = Buffer.from(bytes.subarray(start + 4, length).map((byte, i) => byte ^ key[i % 4]!));
  return { opcode: bytes[0]! & 15, payload, length };
}
