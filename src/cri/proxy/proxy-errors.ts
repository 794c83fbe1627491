import { StatusCode } from '../../wire';
import type { DetailedStatus } from './grpc/error-headers';

/** Clients tell our errors from the runtime's by the beginning of the text, and by the domain in the status details. */
const ERROR_PREFIX = 'cpusetd: ';
const ERROR_DOMAIN = 'cpusetd.io';
const MAX_MESSAGE_CHARACTERS = 1024;

/** An error with which cpusetd itself ends a call. */
export interface ProxyError {
  /** gRPC status code, not 0. */
  readonly code: number;
  /** For the operator; shown in pod events. Gets the prefix `cpusetd: `. */
  readonly message: string;
  /** For machines: UPPER_SNAKE_CASE, as in google.rpc.ErrorInfo. */
  readonly reason: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Adds our prefix and domain. */
export function toDetailedStatus(error: ProxyError): DetailedStatus {
  const message = (ERROR_PREFIX + error.message).slice(0, MAX_MESSAGE_CHARACTERS);
  return { ...error, message, domain: ERROR_DOMAIN };
}

export const requestIsNotOneMessage: ProxyError = {
  code: StatusCode.INTERNAL,
  reason: 'BROKEN_REQUEST',
  message: 'the request is not exactly one message',
};

export const decisionFailed: ProxyError = {
  code: StatusCode.INTERNAL,
  reason: 'INTERNAL',
  message: 'internal error while passing on the request',
};

export const tooMuchHeld: ProxyError = {
  code: StatusCode.RESOURCE_EXHAUSTED,
  reason: 'TOO_MUCH_IN_FLIGHT',
  message: 'too much request data is waiting for a decision, try again',
};

export const tooManyCalls: ProxyError = {
  code: StatusCode.RESOURCE_EXHAUSTED,
  reason: 'TOO_MANY_CALLS',
  message: 'too many calls are open at a time, try again',
};

export const runtimeUnavailable: ProxyError = {
  code: StatusCode.UNAVAILABLE,
  reason: 'RUNTIME_UNAVAILABLE',
  message: 'the container runtime does not answer on its socket',
};

export const runtimeLost: ProxyError = {
  code: StatusCode.UNAVAILABLE,
  reason: 'RUNTIME_LOST',
  message: 'the connection to the container runtime was lost during the call',
};

export const stopping: ProxyError = {
  code: StatusCode.UNAVAILABLE,
  reason: 'STOPPING',
  message: 'the proxy is stopping',
};

export const tooManyConnections: ProxyError = {
  code: StatusCode.UNAVAILABLE,
  reason: 'TOO_MANY_CONNECTIONS',
  message: 'too many connections are open, and nothing has moved on this one for longest',
};

/** A request whose announced length is over the limit. */
export function requestIsTooLong(bytes: number, maxBytes: number): ProxyError {
  return {
    code: StatusCode.RESOURCE_EXHAUSTED,
    reason: 'REQUEST_TOO_LONG',
    message: `the request has ${bytes} bytes, ${maxBytes} are allowed`,
  };
}
