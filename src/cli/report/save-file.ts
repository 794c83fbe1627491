import { randomBytes } from 'node:crypto';
import { closeSync, constants, fsyncSync, linkSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { CpusetdError } from '../../core/errors';
import { meaningOf, systemCodeOf } from '../../core/system-errors';

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
/** The errors of file systems without hard links. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/**
 * Makes a file that only its owner may read. It appears at its path when it is whole, and never takes the place of
 * another. Throws CpusetdError ALREADY_EXISTS or FAILED_PRECONDITION.
 */
export function saveFile(path: string, bytes: Uint8Array): void {
  const partial = `${path}.${randomBytes(4).toString('hex')}.part`;
  try {
    try {
      writeNew(partial, bytes);
      linkSync(partial, path);
    } catch (error) {
      if (!NO_LINKS.has(systemCodeOf(error) ?? '')) throw error;
      writeNew(path, bytes);
    } finally {
      rmSync(partial, { force: true });
    }
  } catch (error) {
    const code = systemCodeOf(error);
    if (code === undefined) throw error;
    if (code === 'EEXIST')
      throw new CpusetdError('ALREADY_EXISTS', `${path}: a file is there, and is not replaced; name another --output`);
    const reason = meaningOf('write a new file', code) ?? `can't be written (${code})`;
    throw new CpusetdError('FAILED_PRECONDITION', `${path}: ${reason}; name another --output`, { cause: error });
  }
}

function writeNew(path: string, bytes: Uint8Array): void {
  const fd = openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    writeFileSync(fd, bytes);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
