/** gRPC's status codes, which ttrpc shares. */
export const StatusCode = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

/**
 * A call that did not succeed. A client's call rejects with it. A server's handler throws it to send its code and
 * message to the caller.
 */
export class TtrpcError extends Error {
  override readonly name = 'TtrpcError';

  constructor(
    /** One of {@link StatusCode}, or another number that the peer sent. Never OK. */
    readonly code: number,
    message: string,
    options?: { readonly cause?: unknown },
  ) {
    super(message, options);
  }
}
