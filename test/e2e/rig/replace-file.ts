import { renameSync, writeFileSync } from 'node:fs';

/** Replaces the content of a file at once, so that no reader gets half of it, as the kernel and the kubelet do. */
export function replaceFile(path: string, text: string): void {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}
