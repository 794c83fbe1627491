import { gunzipSync, inflateSync } from 'node:zlib';

/** Each message in a stream of DATA has a flag (1 = compressed) and its length in front. */
export const MESSAGE_PREFIX_BYTES = 5;

export interface GrpcMessage {
  readonly isCompressed: boolean;
  readonly bytes: Buffer;
}

/** The prefix of a message of `length` bytes. */
export function formatMessagePrefix(length: number, isCompressed: boolean): Buffer {
  const prefix = Buffer.alloc(MESSAGE_PREFIX_BYTES);
  if (isCompressed) prefix[0] = 1;
  prefix.writeUInt32BE(length, 1);
  return prefix;
}

/**
 * The message's plain bytes, at most `maxBytes`; undefined when the encoding is unknown or the data are broken or too
 * long.
 */
export function inflateMessage(
  message: GrpcMessage,
  encoding: string | undefined,
  maxBytes: number,
): Buffer | undefined {
  if (!message.isCompressed) return message.bytes;
  try {
    if (encoding === 'gzip') return gunzipSync(message.bytes, { maxOutputLength: maxBytes });
    if (encoding === 'deflate') return inflateSync(message.bytes, { maxOutputLength: maxBytes });
  } catch {
    return undefined;
  }
  return undefined;
}
