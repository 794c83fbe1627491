/** gRPC's status names. */
export type ErrorCode =
  | 'CANCELLED'
  | 'UNKNOWN'
  | 'INVALID_ARGUMENT'
  | 'DEADLINE_EXCEEDED'
  | 'NOT_FOUND'
  | 'ALREADY_EXISTS'
  | 'PERMISSION_DENIED'
  | 'RESOURCE_EXHAUSTED'
  | 'FAILED_PRECONDITION'
  | 'ABORTED'
  | 'OUT_OF_RANGE'
  | 'UNIMPLEMENTED'
  | 'INTERNAL'
  | 'UNAVAILABLE'
  | 'DATA_LOSS'
  | 'UNAUTHENTICATED';

/** An error with a gRPC status. The message is for the operator and may leave the process; the cause may not. */
export class CpusetdError extends Error {
  override readonly name = 'CpusetdError';

  constructor(
    readonly code: ErrorCode,
    message: string,
    options?: { readonly cause?: unknown },
  ) {
    super(message, options);
  }
}

export interface ErrorStatus {
  readonly code: ErrorCode;
  readonly message: string;
}

/** The status that may leave the process. The text of an error that is no CpusetdError may not. */
export function toErrorStatus(error: unknown): ErrorStatus {
  if (error instanceof CpusetdError) return { code: error.code, message: error.message };
  return { code: 'INTERNAL', message: 'internal error; see the log of cpusetd' };
}
