import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import type { Sources } from './check-imports';

const root = join(__dirname, '../..');

/** Reads the TypeScript files and the pages of these folders of the project. */
export function readSources(...folders: readonly string[]): Sources {
  const sources = new Map<string, string>();
  for (const folder of folders) {
    for (const entry of readdirSync(join(root, folder), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || !/\.(ts|md)$/.test(entry.name)) continue;
      const path = join(entry.parentPath, entry.name);
      sources.set(path.slice(root.length + 1).replaceAll(sep, '/'), readFileSync(path, 'utf8'));
    }
  }
  return sources;
}
