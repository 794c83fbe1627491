import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { Status } from '../../../../gen/google/rpc/status';
import { encodeHeaders } from '../http2/hpack-encoder';
import type { HeaderField } from '../http2/hpack-static-table';
import { encodeMessage, type GrpcStatus } from './status';

/** An error with the details of google.rpc.ErrorInfo. */
export interface DetailedStatus extends GrpcStatus {
  /** UPPER_SNAKE_CASE, unique in the domain. */
  readonly reason: string;
  readonly domain: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Header block of an answer that consists of this error alone ("trailers-only"). */
export function encodeErrorAnswer(error: DetailedStatus): Buffer {
  return encodeHeaders([[':status', '200'], ['content-type', 'application/grpc'], ...errorFields(error)]);
}

/** Header block that ends an answer which has begun. */
export function encodeErrorTrailers(error: DetailedStatus): Buffer {
  return encodeHeaders(errorFields(error));
}

function errorFields(error: DetailedStatus): HeaderField[] {
  const { code, message } = error;
  const info = { typeUrl: 'type.googleapis.com/google.rpc.ErrorInfo', value: encodeErrorInfo(error) };
  const details = Status.encode({ code, message, details: [info] }).finish();
  return [
    ['grpc-status', String(code)],
    ['grpc-message', encodeMessage(message)],
    ['grpc-status-details-bin', Buffer.from(details).toString('base64').replace(/=+$/, '')],
  ];
}

/** google.rpc.ErrorInfo { reason = 1, domain = 2, metadata = 3: map<string, string> }. */
function encodeErrorInfo({ reason, domain, metadata = {} }: DetailedStatus): Uint8Array {
  const writer = new BinaryWriter();
  const writeText = (field: number, text: string): BinaryWriter =>
    writer.tag(field, WireType.LengthDelimited).string(text);
  writeText(1, reason);
  writeText(2, domain);
  for (const [key, value] of Object.entries(metadata)) {
    writer.tag(3, WireType.LengthDelimited).fork();
    writeText(1, key);
    writeText(2, value);
    writer.join();
  }
  return writer.finish();
}
