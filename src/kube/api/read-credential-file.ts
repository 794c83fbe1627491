import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

const MAX_BYTES = 1 << 20;

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  ENOTDIR: 'a part of the path is no directory',
  EACCES: 'permission is denied',
};

/**
 * Reads a kubeconfig, certificate, key or token without blocking the event loop. Opening a pipe does not wait for its
 * writer; a file on a server that is away delays only this call. Links are followed, since a renewed certificate is
 * one. Rejects with an error whose message follows the path in a sentence.
 */
export async function readCredentialFile(path: string): Promise<Buffer> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stats = await file.stat();
      if (!stats.isFile()) throw new Error('it is not a regular file');
      if (stats.size > MAX_BYTES) throw new Error('it is larger than 1 MiB');
      return await file.readFile();
    } finally {
      await file.close();
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Error(code === undefined ? message : `${WORDS[code] ?? 'it can’t be opened'} (${code})`, {
      cause: error,
    });
  }
}
