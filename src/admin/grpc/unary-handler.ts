import * as grpc from '@grpc/grpc-js';
import type { Logger } from 'pino';

import { toErrorStatus } from '../../core/errors';
import { boundText, wellFormed } from '../../core/show-text';
import type { AnswerQueue } from './answer-queue';

/** The log that the admin server needs. */
export type AdminLog = Pick<Logger, 'error' | 'warn'>;

/** Makes the handler of a unary method from a function that returns the answer, or a promise of it, or throws. */
export function answerUnary<Request, Response>(
  log: AdminLog,
  answer: (request: Request) => Response | Promise<Response>,
): grpc.handleUnaryCall<Request, Response> {
  return (call, callback) => {
    (async () => answer(call.request))()
      .then(
        (response) => callback(null, response),
        (error: unknown) => callback(toServiceError(error, log)),
      )
      .catch((error: unknown) => log.error({ err: error }, 'an admin call could not be answered'));
  };
}

/**
 * Makes the handler of a unary method with long or expensive answers: each answer waits for its turn, and its bytes are
 * counted until they have been read.
 */
export function answerInTurn<Request>(
  { log, queue }: { readonly log: AdminLog; readonly queue: AnswerQueue },
  answer: (request: Request) => Buffer,
): grpc.handleUnaryCall<Request, Buffer> {
  return (call, callback) => {
    const forget = queue.add(
      () => sendCounted(call, callback, { queue, bytes: answer(call.request) }),
      (error) => callback(toServiceError(error, log)),
    );
    call.once('cancelled', forget);
  };
}

/** Sends an answer whose bytes count as unread until the call has ended. */
export function sendCounted<Request>(
  call: grpc.ServerUnaryCall<Request, Buffer>,
  callback: grpc.sendUnaryData<Buffer>,
  { queue, bytes }: { readonly queue: AnswerQueue; readonly bytes: Buffer },
): void {
  if (call.cancelled) return;
  call.once('cancelled', queue.holdUnread(bytes.length)); // grpc-js emits it also when all of it was sent
  callback(null, bytes);
}

/** Longest text of a status, which is sent in a header. */
const MAX_DETAILS_LENGTH = 2_048;

/** The status of an error for grpc-js. Internal errors go to the log and not to the peer. */
export function toServiceError(error: unknown, log: AdminLog): { code: grpc.status; details: string } {
  const { code, message } = toErrorStatus(error);
  if (code === 'INTERNAL') log.error({ err: error }, 'admin call failed');
  return { code: grpc.status[code], details: wellFormed(boundText(message, MAX_DETAILS_LENGTH)) };
}
