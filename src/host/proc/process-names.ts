import { readdirSync, readFileSync } from 'node:fs';

/**
 * The names of all visible processes, as the kernel has them: at most 15 bytes. Costs about 10 µs a process. In a PID
 * namespace only its own processes are visible.
 */
export function listProcessNames(procRoot = '/proc'): ReadonlySet<string> {
  const names = new Set<string>();
  for (const entry of readdirSync(procRoot)) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      names.add(readFileSync(`${procRoot}/${entry}/comm`, 'utf8').trimEnd());
    } catch {
      // has ended meanwhile
    }
  }
  return names;
}
