import { CpusetdError, type ErrorCode } from '../core/errors';

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

/** Turns the failure of a call into our own error: the status by its name, and whose call it was. `timeoutMs`: the time that it had. */
export function toCriError(
  method: string,
  failure: { readonly code?: unknown; readonly details?: unknown },
  timeoutMs?: number,
): CpusetdError {
  const code = typeof failure.code === 'number' ? (codeNames[failure.code] ?? 'UNKNOWN') : 'UNKNOWN';
  const text = typeof failure.details === 'string' && failure.details !== '' ? failure.details : 'no details given';
  // The library's own words, and not the runtime's: they tell of its inside, and another number of milliseconds each time.
  if (code === 'DEADLINE_EXCEEDED' && timeoutMs !== undefined && /^Deadline exceeded/i.test(text))
    return new CpusetdError(code, `the runtime did not answer ${method} within ${timeoutMs / 1000} s`, {
      cause: failure,
    });
  if (code === 'UNAVAILABLE')
    return new CpusetdError(code, `the runtime could not be asked ${method}: ${text}`, { cause: failure });
  return new CpusetdError(code, `the runtime answered ${method} with ${code}: ${text}`, { cause: failure });
}
