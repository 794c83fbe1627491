import { toErrorStatus, type ErrorCode } from '../../core/errors';
import type { RuntimeAnswer } from '../../core/model/events';
import { isRefusalCode } from '../../core/model/refusal';
import { StatusCode } from '../../wire';
import type { CallEnd, ProxyError } from '../proxy';
import type { Asked, DaemonPort } from './daemon-port';

/**
 * The codes that callers get unchanged. Any other becomes INTERNAL: a kubelet reads NOT_FOUND as "the container is
 * gone".
 */
const ANSWER_CODES: ReadonlySet<ErrorCode> = new Set([
  'CANCELLED',
  'INVALID_ARGUMENT',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'UNAVAILABLE',
]);

export interface InterceptorRefusal {
  readonly code: ErrorCode;
  readonly message: string;
  /** For the caller; absent = the name of the code. */
  readonly reason?: string;
  /** For the log alone. */
  readonly problem?: string;
}

type Refused = { readonly refuse: ProxyError };

/**
 * Refuses a call in the adapter. Every such refusal passes here, so that it is stored, counted, logged and made an
 * Event like one of the core. A call that has already ended is not counted.
 */
export function refuse(
  daemon: Pick<DaemonPort, 'conclude'>,
  asked: Asked,
  signal: AbortSignal,
  { code, message, reason, problem }: InterceptorRefusal,
): Refused {
  const answer = { kind: 'refuse', code: isRefusalCode(code) ? code : 'INTERNAL', message } as const;
  if (!signal.aborted) daemon.conclude({ ...asked, answer, ...(problem !== undefined && { problem }) });
  return { refuse: { ...toProxyError({ code, message }), ...(reason !== undefined && { reason }) } };
}

/** Turns a refusal of the core, which is reported already, into the answer. */
export function passOn(answer: Extract<RuntimeAnswer, { kind: 'refuse' }>): Refused {
  return { refuse: toProxyError(answer) };
}

/**
 * Reports a call that the proxy refused before its request was read: broken, too long, or too much in flight. Its pod
 * is not known. UNAVAILABLE is no refusal: the runtime is away, or cpusetd stops.
 */
export function concludeUnread(daemon: Pick<DaemonPort, 'conclude'>, event: Asked['event'], end: CallEnd): void {
  const { origin, forwarded, status } = end;
  if (origin !== 'proxy' || forwarded || status.code === StatusCode.UNAVAILABLE) return;
  const code = status.code === StatusCode.RESOURCE_EXHAUSTED ? 'RESOURCE_EXHAUSTED' : 'INTERNAL';
  daemon.conclude({ event, answer: { kind: 'refuse', code, message: status.message } });
}

/** The refusal for an error in a hook. The text of an error that is not ours is not sent. */
export function refusalOf(error: unknown): InterceptorRefusal {
  return toErrorStatus(error);
}

/** The synchronization takes longer than a call may wait. */
export const notReady: InterceptorRefusal = {
  code: 'UNAVAILABLE',
  reason: 'NOT_SYNCHRONIZED',
  message: 'the runtime has not sent its containers yet; try again',
};

function toProxyError({ code, message }: { readonly code: ErrorCode; readonly message: string }): ProxyError {
  return { code: StatusCode[ANSWER_CODES.has(code) ? code : 'INTERNAL'], message, reason: code };
}
