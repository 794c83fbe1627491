import { CpusetdError, type ErrorCode } from '../../core/errors';

/** gRPC's status numbers are the positions in this list; 0 is OK and no error. */
const codeNames: readonly ErrorCode[] = [
  'UNKNOWN',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
];

/** Turns the failure of a call into our own error: the status by its name, and whose call it was. */
export function toCriError(
  method: string,
  failure: { readonly code?: unknown; readonly details?: unknown },
): CpusetdError {
  const code = typeof failure.code === 'number' ? (codeNames[failure.code] ?? 'UNKNOWN') : 'UNKNOWN';
  const text = typeof failure.details === 'string' && failure.details !== '' ? failure.details : 'no details given';
  return new CpusetdError(code, `the runtime answered ${method} with ${code}: ${text}`, { cause: failure });
}
