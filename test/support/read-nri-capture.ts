import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { Request } from '../gen/ttrpc';

export interface CapturedRequest {
  readonly method: string;
  readonly payload: Buffer;
}

/**
 * The requests of a runtime to its plugin in a recorded session (test/fixtures/captures), in order. Reads frames and
 * headers without the decoders of src, so that tests can compare with it.
 */
export function readNriCapture(session: string): readonly CapturedRequest[] {
  const bytes = readFileSync(join(__dirname, '../fixtures/captures', `${session}.r2p.bin`));
  return messagesOf(joinFrames(bytes, 1)).map((data) => {
    const { method, payload } = Request.decode(data);
    return { method, payload: Buffer.from(payload) };
  });
}

/** Frame: connection id, length (both u32), payload. */
function joinFrames(bytes: Buffer, connection: number): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = at + 8 + bytes.readUInt32BE(at + 4);
    if (bytes.readUInt32BE(at) === connection) parts.push(bytes.subarray(at + 8, end));
    at = end;
  }
  return Buffer.concat(parts);
}

/** Message: length, stream id (both u32), type, flags, data. */
function messagesOf(bytes: Buffer): Buffer[] {
  const messages: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = at + 10 + bytes.readUInt32BE(at);
    messages.push(bytes.subarray(at + 10, end));
    at = end;
  }
  return messages;
}
