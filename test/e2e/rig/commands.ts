/** Commands for containers of the rig's busybox image. */

/**
 * Prints the CPUs that the first process may run on (kernel list format) before anything else, and then sleeps. The
 * shell itself reads its status: there is no second process.
 */
export const printMaskThenSleep: readonly string[] = ['sh', '-c', `${printOwnMask()}; exec sleep 2147483647`];

/** The same, but ends at once. */
export const printMaskThenExit: readonly string[] = ['sh', '-c', printOwnMask()];

/** The same with this much memory, which it has written to: its second line is the number of bytes. */
export const printMaskThenHold = (bytes: number): readonly string[] => [
  'sh',
  '-c',
  `${printOwnMask()}; exec awk 'BEGIN { held = sprintf("%${bytes}d", 0); print length(held); fflush(); system("exec sleep 2147483647") }'`,
];

function printOwnMask(): string {
  return 'while read -r key value; do [ "$key" = Cpus_allowed_list: ] && echo "$value"; done < /proc/self/status; true';
}
