import { encodeHeaders } from '../http2/hpack-encoder';
import type { HeaderField } from '../http2/hpack-static-table';
import { encodeMessage } from './status';

/** What tells our errors from the runtime's: the beginning of the text, and the domain in the status details. */
const ERROR_PREFIX = 'cpusetd: ';
const ERROR_DOMAIN = 'cpusetd.io';

/** An error of cpusetd's own. */
export interface OwnError {
  /** gRPC status code, not 0. */
  readonly code: number;
  /** For the operator; shown in pod events. Gets the prefix `cpusetd: `. */
  readonly message: string;
  /** For machines: UPPER_SNAKE_CASE, as in google.rpc.ErrorInfo. */
  readonly reason: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

const MAX_MESSAGE_CHARACTERS = 1024;

/** Header block of an answer that consists of this error alone ("trailers-only"). */
export function encodeErrorAnswer(error: OwnError): Buffer {
  return encodeHeaders([[':status', '200'], ['content-type', 'application/grpc'], ...errorFields(error)]);
}

/** Header block that ends an answer which has begun. */
export function encodeErrorTrailers(error: OwnError): Buffer {
  return encodeHeaders(errorFields(error));
}

function errorFields(error: OwnError): HeaderField[] {
  const message = (ERROR_PREFIX + error.message).slice(0, MAX_MESSAGE_CHARACTERS);
  const details = Buffer.from(encodeRpcStatus(error, message)).toString('base64').replace(/=+$/, '');
  return [
    ['grpc-status', String(error.code)],
    ['grpc-message', encodeMessage(message)],
    ['grpc-status-details-bin', details],
  ];
}

/** google.rpc.Status { code = 1, message = 2, details = 3: [Any { type_url = 1, value = 2: ErrorInfo }] }. */
function encodeRpcStatus(error: OwnError, message: string): Uint8Array {
  const any = [...encodeText(1, 'type.googleapis.com/google.rpc.ErrorInfo'), ...encodeField(2, encodeErrorInfo(error))];
  return Uint8Array.from([0x08, ...encodeVarint(error.code), ...encodeText(2, message), ...encodeField(3, any)]);
}

/** google.rpc.ErrorInfo { reason = 1, domain = 2, metadata = 3: map<string, string> }. */
function encodeErrorInfo({ reason, metadata = {} }: OwnError): number[] {
  const entries = Object.entries(metadata).flatMap(([key, value]) =>
    encodeField(3, [...encodeText(1, key), ...encodeText(2, value)]),
  );
  return [...encodeText(1, reason), ...encodeText(2, ERROR_DOMAIN), ...entries];
}

function encodeText(field: number, text: string): number[] {
  return encodeField(field, [...Buffer.from(text, 'utf8')]);
}

function encodeField(field: number, bytes: readonly number[]): number[] {
  return [(field << 3) | 2, ...encodeVarint(bytes.length), ...bytes];
}

function encodeVarint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...encodeVarint(value >>> 7)];
}
