import * as fs from 'node:fs';

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = fs.constants;

export type FileText =
  | { readonly kind: 'text'; readonly text: string }
  /** `because` goes on from the path: "is not a regular file". */
  | { readonly kind: 'refused'; readonly because: string };

/**
 * Reads a file that someone names to us, and never waits for it: what is at the path may be a pipe without a writer, a
 * device without an end, or a file that is as large as the disk. Throws Node's errors with `code`.
 *
 * @param own a file that we wrote: a link is not followed (ELOOP), and a file of another user than root is refused
 */
export function readRegularFile(
  path: string,
  { maxBytes, own }: { readonly maxBytes: number; readonly own: boolean },
): FileText {
  const fd = fs.openSync(path, O_RDONLY | O_NONBLOCK | (own ? O_NOFOLLOW : 0));
  try {
    const stats = fs.fstatSync(fd);
    if (stats.isDirectory()) return { kind: 'refused', because: 'is a folder, not a file' };
    if (own && stats.uid !== 0 && stats.uid !== process.geteuid?.())
      return { kind: 'refused', because: `belongs to user ${stats.uid}` };
    if (!stats.isFile()) return { kind: 'refused', because: 'is not a regular file' };
    const bytes = readAtMost(fd, maxBytes + 1);
    return bytes.length > maxBytes
      ? { kind: 'refused', because: `is larger than ${maxBytes / 2 ** 20} MiB` }
      : { kind: 'text', text: bytes.toString('utf8') };
  } finally {
    fs.closeSync(fd);
  }
}

/** Not by the size that is told: files of the kernel tell 0. */
function readAtMost(fd: number, maxBytes: number): Buffer {
  const chunks: Buffer[] = [];
  let length = 0;
  while (length < maxBytes) {
    const chunk = Buffer.allocUnsafe(Math.min(64 * 1024, maxBytes - length));
    const count = fs.readSync(fd, chunk, 0, chunk.length, null);
    if (count === 0) break;
    chunks.push(chunk.subarray(0, count));
    length += count;
  }
  return Buffer.concat(chunks, length);
}
