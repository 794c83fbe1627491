// Options that several commands about a node have.
import { resolve } from 'node:path';
import { InvalidArgumentError, Option } from 'commander';

import { socketPath } from '../../option-types/system-types';
import { parseTime } from '../events/parse-filter';

/** The directory of the daemon's state, for commands that read it without a daemon. */
export function createStateDirOption(description = 'where assignments are remembered'): Option {
  return new Option('--state-dir <path>', description).env('CPUSETD_STATE_DIR').default('/var/lib/cpusetd');
}

/** A time in the past, for commands that show the node as it was. Its value is in ms since 1970. */
export function createAtOption(description: string): Option {
  return new Option(
    '--at <time>',
    `${description}: a duration ago like 10m, a time like 2026-11-24T10:00:00Z, or 14:03 (UTC), the last time that it was so late`,
  ).argParser(parseTime);
}

/** The socket of the daemon to ask; a path that does not begin with a slash is below the working directory. */
export function createAdminSocketOption(): Option {
  return new Option('--admin-socket <socket>', "the daemon's admin socket")
    .env('CPUSETD_ADMIN_SOCKET')
    .argParser(parseSocket)
    .default('/run/cpusetd/cpusetd.sock');
}

function parseSocket(text: string): string {
  const isWhole = text === '' || text.startsWith('unix://');
  const parsed = socketPath.parse(isWhole ? text : resolve(text));
  if (parsed.ok) return parsed.value;
  throw new InvalidArgumentError(`It ${parsed.problem}; ${parsed.remedy}.`);
}
