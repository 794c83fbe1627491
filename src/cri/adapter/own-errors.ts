import { toErrorStatus, type ErrorCode } from '../../core/errors';
import type { RuntimeAnswer } from '../../core/model/events';
import type { OwnError } from '../proxy';

/** gRPC's numbers of the codes that we answer with. */
const NUMBERS: Readonly<Partial<Record<ErrorCode, number>>> = {
  CANCELLED: 1,
  INVALID_ARGUMENT: 3,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  INTERNAL: 13,
  UNAVAILABLE: 14,
};

/** A refusal of the core's, as it leaves: the reason is the code's name. */
export function toOwnError({
  code,
  message,
}: Pick<Extract<RuntimeAnswer, { kind: 'refuse' }>, 'message'> & { code: ErrorCode }): OwnError {
  return { code: NUMBERS[code] ?? 13, message, reason: code };
}

/** An error that a hook met; of one that is not ours nothing of its text is told. */
export function errorOf(error: unknown): OwnError {
  return toOwnError(toErrorStatus(error));
}

/** The node is being synchronized, and that takes longer than a call may be held. */
export const notReady: OwnError = {
  code: 14,
  reason: 'NOT_SYNCHRONIZED',
  message: 'the runtime has not told yet which containers there are; try again',
};
