import { readFileSync } from 'node:fs';

/** The default limit of Linux. */
const USUAL_LIMIT = 1024;

/** Number of descriptors that this process may have open; the default when it can't be read. */
export function readDescriptorLimit(): number {
  try {
    const limit = /^Max open files +(\d+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return limit === 'unlimited' ? Infinity : Number(limit ?? USUAL_LIMIT);
  } catch {
    return USUAL_LIMIT;
  }
}
