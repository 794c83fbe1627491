import { Option } from 'commander';

/** The socket of the daemon to ask. */
export function createAdminSocketOption(): Option {
  return new Option('--admin-socket <socket>', "the daemon's admin socket")
    .env('CPUSETD_ADMIN_SOCKET')
    .default('/run/cpusetd/cpusetd.sock');
}
