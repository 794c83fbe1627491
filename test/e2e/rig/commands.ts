/** Commands for containers of the rig's busybox image. */

/**
 * Prints, as the very first thing the container's first process does, the CPUs it may run on (kernel list format), and
 * then sleeps for ever. The shell itself reads its status: no second process is involved.
 */
export const printMaskThenSleep: readonly string[] = ['sh', '-c', `${printOwnMask()}; exec sleep 2147483647`];

/** The same, but ends by itself at once. */
export const printMaskThenExit: readonly string[] = ['sh', '-c', printOwnMask()];

function printOwnMask(): string {
  return 'while read -r key value; do [ "$key" = Cpus_allowed_list: ] && echo "$value"; done < /proc/self/status; true';
}
