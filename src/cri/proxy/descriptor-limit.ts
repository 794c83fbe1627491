import { readFileSync } from 'node:fs';

/** The limit that Linux gives a process where nobody says otherwise. */
const USUAL_LIMIT = 1024;

/** Number of descriptors that this process may have open; the usual one where it can't be read. */
export function readDescriptorLimit(): number {
  try {
    const limit = /^Max open files +(\d+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return limit === 'unlimited' ? Infinity : Number(limit ?? USUAL_LIMIT);
  } catch {
    return USUAL_LIMIT;
  }
}
