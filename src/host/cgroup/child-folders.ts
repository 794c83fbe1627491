import { readdirSync, statSync } from 'node:fs';

/** The kernel counts a directory's subdirectories in its links: most containers are leaves, and need no listing. */
export function childrenOf(folder: string): string[] {
  if ((statSync(folder, { throwIfNoEntry: false })?.nlink ?? 2) === 2) return [];
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => `${folder}/${entry.name}`);
  } catch {
    return []; // removed since
  }
}
