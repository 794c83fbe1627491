import { CpusetdError } from '../core/errors';
import { CgroupError, HostLockError, SysfsError } from '../host';

/** What can't be done without: where the node does not give it, the adapter's sentence says what is missing. */
export function demand<T>(get: () => T): T {
  try {
    return get();
  } catch (error) {
    const isExplained = error instanceof SysfsError || error instanceof CgroupError || error instanceof HostLockError;
    throw isExplained ? new CpusetdError('FAILED_PRECONDITION', error.message, { cause: error }) : error;
  }
}
