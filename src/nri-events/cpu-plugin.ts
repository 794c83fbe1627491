import { CpusetdError } from '../core/errors';
import type { RuntimeAnswer, RuntimeEvent } from '../core/model/events';
import type { NriLog, RawPlugin } from '../nri';
import { StatusCode, TtrpcError, type TtrpcRequest } from '../wire';
import { EVENT_METHODS, EVENTS, readEvent } from './read-event';
import { Synchronization } from './synchronization';
import { canCarry, writeAnswer } from './write-answer';

/** Decides on events. It answers at once, which is quickest, or by a promise. */
export interface RuntimeHandler {
  onEvent(event: RuntimeEvent): RuntimeAnswer | Promise<RuntimeAnswer>;
}

const EMPTY = new Uint8Array(0);

/** The raw plugin of the handler. It translates messages to events of core and answers of core to messages. */
export function createCpuPlugin(handler: RuntimeHandler, log: NriLog): RawPlugin {
  /** Stays synchronous when the handler does. */
  const answer = (event: RuntimeEvent): Uint8Array | Promise<Uint8Array> => {
    const answered = handler.onEvent(event);
    return answered instanceof Promise ? answered.then((late) => write(event, late)) : write(event, answered);
  };
  const write = (event: RuntimeEvent, answered: RuntimeAnswer): Uint8Array => {
    if (answered.kind === 'refuse') throw new TtrpcError(StatusCode[answered.code], answered.message);
    if (!canCarry(event, answered))
      log.warn({ event: event.kind }, 'part of an answer has no place in this message and is left out');
    return writeAnswer(event, answered);
  };
  const onEvent = toTtrpcErrors(({ method, payload }) => {
    const event = readEvent(method, payload);
    return event === 'ignored' ? EMPTY : answer(event);
  });
  return {
    events: EVENTS,
    methods: Object.fromEntries(EVENT_METHODS.map((method) => [method, onEvent])),
    openSynchronization: () => {
      const synchronization = new Synchronization();
      return {
        add: toTtrpcErrors((request) => synchronization.add(request.payload)),
        answer: toTtrpcErrors(() => answer(synchronization.event)),
      };
    },
  };
}

/** Turns CpusetdError into an error with its code and text; of any other error the wire sends only INTERNAL. */
function toTtrpcErrors<T>(handler: (request: TtrpcRequest) => T): (request: TtrpcRequest) => T {
  const rethrow = (error: unknown): never => {
    throw error instanceof CpusetdError
      ? new TtrpcError(StatusCode[error.code], error.message, { cause: error })
      : error;
  };
  return (request) => {
    try {
      const result = handler(request);
      return result instanceof Promise ? (result.catch(rethrow) as T) : result;
    } catch (error) {
      return rethrow(error);
    }
  };
}
