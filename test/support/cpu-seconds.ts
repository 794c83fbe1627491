import { readFileSync } from 'node:fs';

/** User and system time of a process in seconds; see proc_pid_stat(5). The kernel counts hundredths of a second. */
export function readCpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' '); // a program's name may have any character
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
