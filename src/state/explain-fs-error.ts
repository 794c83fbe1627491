const REMEDIES: Readonly<Record<string, string>> = {
  ENOSPC: 'the file system is full: free some space on it',
  EDQUOT: 'a disk quota is used up: raise it or free some space',
  EFBIG: 'the file is larger than this process may write: raise its limit (ulimit -f)',
  EROFS: 'the file system is mounted read-only: mount it writable or choose another --state-dir',
  EACCES: 'permission is denied: cpusetd must own the directory (mode 0700)',
  EPERM: 'the operation is not permitted: look for an immutable attribute (lsattr) or a security module',
  EIO: 'the device reported an input/output error: look into the kernel log',
  ENOENT: 'the directory is gone: create it again or restart cpusetd',
  ENOTDIR: 'a part of the path is not a directory: choose another --state-dir',
  EISDIR: 'a directory is where the file is written first (.tmp): remove it',
  EEXIST: 'the path exists and is not a directory: choose another --state-dir',
  EMFILE: 'cpusetd has too many files open: raise its limit (ulimit -n)',
  ENFILE: 'the machine has too many files open',
};

/** Node's code of a failed file operation (`ENOSPC`), or `UNKNOWN`. */
export function codeOf(error: unknown): string {
  const code = (error as { readonly code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : 'UNKNOWN';
}

/** A sentence for the operator: which path, what is wrong, what to do. `deed` completes "can't …", e.g. `write`. */
export function explainFsError(deed: string, path: string, error: unknown): string {
  const code = codeOf(error);
  return `can't ${deed} ${path}: ${REMEDIES[code] ?? String(error)} (${code})`;
}
