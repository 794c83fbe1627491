import { Option } from 'commander';

import { parseTime } from '../events/parse-filter';

/** A time in the past, for commands that show the node as it was. Its value is in ms since 1970. */
export function createAtOption(description: string): Option {
  return new Option(
    '--at <time>',
    `${description}: a duration ago like 10m, a time like 2026-11-24T10:00:00Z, or 14:03 (UTC), the last time that it was so late`,
  ).argParser(parseTime);
}
