/** Commands for containers of the rig's busybox image. */

/**
 * Prints the CPUs that the first process may run on (kernel list format) before anything else, and then sleeps. The shell itself reads
 * its status: there is no second process.
 */
export const printMaskThenSleep: readonly string[] = ['sh', '-c', `${printOwnMask()}; exec sleep 2147483647`];

/** The same, but ends at once. */
export const printMaskThenExit: readonly string[] = ['sh', '-c', printOwnMask()];

function printOwnMask(): string {
  return 'while read -r key value; do [ "$key" = Cpus_allowed_list: ] && echo "$value"; done < /proc/self/status; true';
}
