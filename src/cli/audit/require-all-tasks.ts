import { CpusetdError } from '../../core/errors';
import { seesAllTasks } from '../../host';

/**
 * The reason for which it can't be seen who runs on a CPU: only some of the machine's processes are visible. undefined
 * where all are.
 */
export function whyTasksAreHidden(): string | undefined {
  return seesAllTasks()
    ? undefined
    : 'only processes of this container or of this user are visible here: run it as root on the host, or in a pod with hostPID';
}

/** Throws CpusetdError FAILED_PRECONDITION where only some of the machine's processes are visible. */
export function requireAllTasks(): void {
  const because = whyTasksAreHidden();
  if (because !== undefined) throw new CpusetdError('FAILED_PRECONDITION', because);
}
