import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The project's folder, wherever in it this file, or the bundle that it became part of, is. */
export function projectRoot(): string {
  let folder = __dirname;
  while (!existsSync(join(folder, 'package.json')) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}
