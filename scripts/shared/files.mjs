// Files that may disappear while they are read.
import { readFileSync } from 'node:fs';

/**
 * The text of a file.
 * @param {string} path
 * @returns {string} empty when the file can't be read: processes and cgroups come and go
 */
export function readOrEmpty(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
