import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Maximum number of seeds from one file: more of the same kind do not help the search. */
const MAX_LINES = 40;

/**
 * One seed for each line of a file of JSON lines; `pick` gives the text of the seed, or undefined when the line has
 * none.
 */
export function readLines(
  fixtures: string,
  file: string,
  pick: (line: Readonly<Record<string, unknown>>) => unknown,
): readonly Uint8Array[] {
  return readFileSync(join(fixtures, file), 'utf8')
    .trimEnd()
    .split('\n')
    .flatMap((line) => {
      const text = pick(JSON.parse(line) as Record<string, unknown>);
      return typeof text === 'string' ? Buffer.from(text) : [];
    })
    .slice(0, MAX_LINES);
}

/** Each file of a folder whose name has this prefix. */
export function readFiles(fixtures: string, folder: string, prefix: string): readonly Uint8Array[] {
  return readdirSync(join(fixtures, folder))
    .filter((name) => name.startsWith(prefix))
    .map((name) => readFileSync(join(fixtures, folder, name)));
}
