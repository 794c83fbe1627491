import { toErrorStatus, type ErrorCode } from '../../core/errors';
import type { RefusalCode, RuntimeAnswer } from '../../core/model/events';
import { StatusCode } from '../../wire';
import type { CallEnd, ProxyError } from '../proxy';
import type { Asked, DaemonPort } from './daemon-port';

/** The codes that callers get as they are. Any other becomes INTERNAL: NOT_FOUND, say, means to a kubelet that its container is gone. */
const ANSWER_CODES: ReadonlySet<ErrorCode> = new Set([
  'CANCELLED',
  'INVALID_ARGUMENT',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'UNAVAILABLE',
]);

const REFUSAL_CODES: Readonly<Record<RefusalCode, true>> = {
  RESOURCE_EXHAUSTED: true,
  FAILED_PRECONDITION: true,
  UNAVAILABLE: true,
  INVALID_ARGUMENT: true,
  INTERNAL: true,
};

export interface InterceptorRefusal {
  readonly code: ErrorCode;
  readonly message: string;
  /** For the caller; absent: the name of the code. */
  readonly reason?: string;
  /** For the log alone. */
  readonly problem?: string;
}

type Refused = { readonly refuse: ProxyError };

/**
 * A refusal of the adapter's own: the one way out for it, so that it is remembered, counted, logged and an Event as those of the
 * core are. A call that has ended was given up, and nobody is refused.
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

/** A refusal of the core's, which is known already, as it leaves. */
export function passOn(answer: Extract<RuntimeAnswer, { kind: 'refuse' }>): Refused {
  return { refuse: toProxyError(answer) };
}

/**
 * The proxy has refused a call before its request was read: it was broken, too long, or too much was under way. Nobody knows whose it
 * was. Where the runtime is away, or we stop, nobody has refused it.
 */
export function concludeUnread(daemon: Pick<DaemonPort, 'conclude'>, event: Asked['event'], end: CallEnd): void {
  const { origin, forwarded, status } = end;
  if (origin !== 'proxy' || forwarded || status.code === StatusCode.UNAVAILABLE) return;
  const code = status.code === StatusCode.RESOURCE_EXHAUSTED ? 'RESOURCE_EXHAUSTED' : 'INTERNAL';
  daemon.conclude({ event, answer: { kind: 'refuse', code, message: status.message } });
}

/** An error that a hook met; of one that is not ours nothing of its text is told. */
export function refusalOf(error: unknown): InterceptorRefusal {
  return toErrorStatus(error);
}

/** The node is being synchronized, and that takes longer than a call may be held. */
export const notReady: InterceptorRefusal = {
  code: 'UNAVAILABLE',
  reason: 'NOT_SYNCHRONIZED',
  message: 'the runtime has not told yet which containers there are; try again',
};

function toProxyError({ code, message }: { readonly code: ErrorCode; readonly message: string }): ProxyError {
  return { code: StatusCode[ANSWER_CODES.has(code) ? code : 'INTERNAL'], message, reason: code };
}

function isRefusalCode(code: ErrorCode): code is RefusalCode {
  return Object.hasOwn(REFUSAL_CODES, code);
}
