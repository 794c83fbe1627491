import { readdirSync } from 'node:fs';

/** The names in a folder that not every kernel has, in order; none when it can't be read. */
export function listNames(directory: string): readonly string[] {
  try {
    return readdirSync(directory).sort();
  } catch {
    return [];
  }
}
