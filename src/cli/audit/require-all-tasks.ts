import { CpusetdError } from '../../core/errors';
import { seesAllTasks } from '../../host';

/** Throws CpusetdError FAILED_PRECONDITION where only some of the machine's processes are visible: who else runs on a CPU is not known then. */
export function requireAllTasks(): void {
  if (seesAllTasks()) return;
  throw new CpusetdError(
    'FAILED_PRECONDITION',
    'only processes of this container or of this user are visible here: run it as root on the host, or in a pod with hostPID',
  );
}
