import { nodeFsOps, type FsOps } from '../../../src/files/fs-ops';

/** The error with which Node reports a failed system call. */
export function fsError(code: string): Error {
  return Object.assign(new Error(`${code}: made by the test`), { code });
}

/** Calls `before` with the name and the index (from 0) of each operation, and then `inner`. */
export function watchOps(before: (op: keyof FsOps, index: number) => void, inner: FsOps = nodeFsOps): FsOps {
  const count = { value: 0 };
  const seen =
    <A extends unknown[], R>(op: keyof FsOps, act: (...args: A) => R) =>
    (...args: A): R => {
      before(op, count.value++);
      return act(...args);
    };
  return {
    mkdir: seen('mkdir', inner.mkdir),
    readdir: seen('readdir', inner.readdir),
    stat: seen('stat', inner.stat),
    assertWritable: seen('assertWritable', inner.assertWritable),
    readText: seen('readText', inner.readText),
    openForWriting: seen('openForWriting', inner.openForWriting),
    openDirectory: seen('openDirectory', inner.openDirectory),
    write: seen('write', inner.write),
    fsync: seen('fsync', inner.fsync),
    close: seen('close', inner.close),
    rename: seen('rename', inner.rename),
    link: seen('link', inner.link),
    unlink: seen('unlink', inner.unlink),
  };
}

/** Fails at operation number `index` and all later ones, as if the process had died before it. */
export function dieBefore(index: number, inner?: FsOps): FsOps {
  return watchOps((_op, at) => {
    if (at >= index) throw fsError('EDEAD');
  }, inner);
}

/** Writes a few bytes at a time, so that a text has several writes. */
export function inShortWrites(bytes: number, inner: FsOps = nodeFsOps): FsOps {
  return { ...inner, write: (fd, data, offset) => inner.write(fd, data.subarray(0, offset + bytes), offset) };
}
