import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The root folder of the project: the first folder above this file, or above its bundle, that has a package.json. */
export function projectRoot(): string {
  let folder = __dirname;
  while (!existsSync(join(folder, 'package.json')) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}
