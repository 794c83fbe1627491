import { renameSync, writeFileSync } from 'node:fs';

/** Gives a file another content at once, so that nobody reads half of it: as the kernel does, and the kubelet. */
export function replaceFile(path: string, text: string): void {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}
