import { StatusCode } from '../../../wire';
import { ErrorCode } from '../http2/frame';
import type { HeaderField } from '../http2/hpack-static-table';

/** The end of a gRPC call. */
export interface GrpcStatus {
  readonly code: number;
  readonly message: string;
}

/** The status in the header fields that end an answer; a missing or unreadable code is UNKNOWN, as gRPC demands. */
export function readStatus(fields: readonly HeaderField[]): GrpcStatus {
  const code = findHeader(fields, 'grpc-status');
  return {
    code: code !== undefined && /^\d{1,9}$/.test(code) ? Number(code) : StatusCode.UNKNOWN,
    message: decodeMessage(findHeader(fields, 'grpc-message') ?? ''),
  };
}

/** The value of the first field called `name`. */
export function findHeader(fields: readonly HeaderField[], name: string): string | undefined {
  return fields.find((field) => field[0] === name)?.[1];
}

/** The gRPC code that a client derives from an RST_STREAM code (gRPC over HTTP/2, "Errors"). */
export function codeOfReset(http2Code: number): number {
  switch (http2Code) {
    case ErrorCode.refusedStream:
      return StatusCode.UNAVAILABLE;
    case ErrorCode.cancel:
      return StatusCode.CANCELLED;
    case ErrorCode.enhanceYourCalm:
      return StatusCode.RESOURCE_EXHAUSTED;
    case ErrorCode.inadequateSecurity:
      return StatusCode.PERMISSION_DENIED;
    default:
      return StatusCode.INTERNAL;
  }
}

/** `grpc-message`: UTF-8, with everything but printable ASCII (and with `%`) percent-encoded. */
export function encodeMessage(text: string): string {
  let out = '';
  for (const byte of Buffer.from(text, 'utf8')) {
    const isPlain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
    out += isPlain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return out;
}

/** The reverse; an invalid escape stays as it is. */
function decodeMessage(text: string): string {
  if (!text.includes('%')) return text;
  const bytes = text.replace(/%([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
