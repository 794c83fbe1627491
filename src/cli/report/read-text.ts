import { readBounded } from '../../files/read-bounded';

/** Most bytes of a file of the kernel: `/proc/cpuinfo` of a thousand CPUs has some. */
const MAX_BYTES = 8 * 1024 * 1024;

/** The text of a file. `own`: as of `readBounded`. Throws Error with path and reason. */
export function readText(path: string, maxBytes = MAX_BYTES, options: { readonly own?: boolean } = {}): string {
  const read = readBounded(path, maxBytes, options);
  if (read.ok) return read.text;
  throw new Error(`${path}: ${read.because}`);
}

/** The same, where its absence says nothing. */
export function readIfThere(path: string, maxBytes = MAX_BYTES): string | undefined {
  const read = readBounded(path, maxBytes);
  return read.ok ? read.text : undefined;
}
