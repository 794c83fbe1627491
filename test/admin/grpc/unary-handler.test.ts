import { EventEmitter } from 'node:events';
import { status, type ServerUnaryCall } from '@grpc/grpc-js';

import { AnswerQueue } from '../../../src/admin/grpc/answer-queue';
import { answerInTurn, answerUnary, toServiceError, type AdminLog } from '../../../src/admin/grpc/unary-handler';
import { CpusetdError } from '../../../src/core/errors';

let logged: unknown[];
const log = { error: (fact: unknown) => void logged.push(fact), warn: () => undefined } as unknown as AdminLog;
beforeEach(() => (logged = []));

function callOf<T>(request: T): ServerUnaryCall<T, Buffer> {
  return Object.assign(new EventEmitter(), { request, cancelled: false }) as unknown as ServerUnaryCall<T, Buffer>;
}

test('a known error has its code and message, and is not logged', () => {
  expect(toServiceError(new CpusetdError('NOT_FOUND', 'no pod a'), log)).toEqual({
    code: status.NOT_FOUND,
    details: 'no pod a',
  });
  expect(logged).toEqual([]);
});

test('any other error is INTERNAL without its message, and is logged', () => {
  const { code, details } = toServiceError(new TypeError('a secret'), log);
  expect([code, details.includes('secret'), logged.length]).toEqual([status.INTERNAL, false, 1]);
});

test('a long message is cut', () => {
  expect(toServiceError(new CpusetdError('NOT_FOUND', 'x'.repeat(10_000)), log).details.length).toBeLessThan(2_100);
});

test('answerUnary calls back with the answer or the error', async () => {
  const handler = answerUnary<number, Buffer>(log, (n) => {
    if (n === 0) throw new CpusetdError('INVALID_ARGUMENT', 'zero');
    return Buffer.from([n]);
  });
  const answerTo = (n: number) =>
    new Promise((resolve) => handler(callOf(n), (error, response) => resolve(error ?? response)));
  expect(await answerTo(1)).toEqual(Buffer.from([1]));
  expect(await answerTo(0)).toEqual({ code: status.INVALID_ARGUMENT, details: 'zero' });
});

test('answerInTurn answers in a later turn, and skips a call that was cancelled', async () => {
  const answers: unknown[] = [];
  const handler = answerInTurn<number>({ log, queue: new AnswerQueue() }, (n) => Buffer.from([n]));
  const [first, second] = [callOf(1), callOf(2)];
  for (const call of [first, second]) handler(call, (_error, response) => answers.push(response));
  first.emit('cancelled');
  expect(answers).toEqual([]);
  await new Promise(setImmediate);
  expect(answers).toEqual([Buffer.from([2])]);
});
