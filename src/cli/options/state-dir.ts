import { Option } from 'commander';

/** The directory of the daemon's state, for commands that read it without a daemon. */
export function createStateDirOption(description = 'where assignments are remembered'): Option {
  return new Option('--state-dir <path>', description).env('CPUSETD_STATE_DIR').default('/var/lib/cpusetd');
}
