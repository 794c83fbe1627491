import { CpusetdError, type ErrorCode } from '../core/errors';
import { StatusCode } from '../wire';

const CODE_NAMES: ReadonlyMap<unknown, string> = new Map(
  Object.entries(StatusCode).map(([name, code]) => [code, name]),
);

/**
 * The name of a status number of gRPC; UNKNOWN for 0, which is no error, and for a number that gRPC does not define.
 */
export function toErrorCode(code: unknown): ErrorCode {
  return code === StatusCode.OK ? 'UNKNOWN' : ((CODE_NAMES.get(code) ?? 'UNKNOWN') as ErrorCode);
}

/** A failed call. */
export interface CallFailure {
  readonly method: string;
  readonly code: ErrorCode;
  /** The text of the status: of the peer, or of the library when the peer did not answer. */
  readonly details: string;
  /** The time that the call had; absent for a stream. */
  readonly timeoutMs?: number;
}

/** Makes the message for the operator. */
export type ExplainFailure = (failure: CallFailure) => string;

/** Turns an error of grpc-js into ours: the name of the status, and the message that `explain` makes. */
export function toCallError(
  failure: { readonly code?: unknown; readonly details?: unknown },
  call: { readonly method: string; readonly timeoutMs?: number },
  explain: ExplainFailure,
): CpusetdError {
  const { code: number, details: text } = failure;
  const code = toErrorCode(number);
  const details = typeof text === 'string' && text !== '' ? text : 'no details given';
  return new CpusetdError(code, explain({ ...call, code, details }), { cause: failure });
}

/** Messages that name the peer, such as "the runtime", and the method. */
export function explainFailureOf(peer: string): ExplainFailure {
  return ({ method, code, details, timeoutMs }) => {
    // The library's text names its internals, and a different number of milliseconds each time.
    if (code === 'DEADLINE_EXCEEDED' && timeoutMs !== undefined && /^Deadline exceeded/i.test(details))
      return `${peer} did not answer ${method} within ${timeoutMs / 1000} s`;
    if (code === 'UNAVAILABLE') return `${peer} could not be asked ${method}: ${details}`;
    return `${peer} answered ${method} with ${code}: ${details}`;
  };
}
