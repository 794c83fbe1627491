import { resolve } from 'node:path';
import { InvalidArgumentError, Option } from 'commander';
import { socketPath } from '../../option-types/system-types';

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
