import { oneOf } from './value-type';

/** Options of every program that logs. */
export const LOG_LEVEL = {
  type: oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal'),
  default: 'info',
  description: 'the least severity that is logged',
} as const;

export const LOG_FORMAT = {
  type: oneOf('json', 'pretty'),
  default: 'json',
  description: 'one JSON object or one readable line per event',
} as const;
