/** Operations of the system whose errors have texts of their own for the operator. */
type Operation = keyof typeof MEANINGS;

/** By operation, then by Node's code. Each text goes on a sentence of its caller. */
const MEANINGS = {
  'save state': {
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
  },
  'open a directory': {
    EEXIST: 'something that is no directory is there',
    ENOTDIR: 'a part of the path is no directory',
    EROFS: 'the directory is not there, and the file system is mounted read-only',
    EACCES: 'permission is denied',
  },
  'keep a file for a container': {
    ENOSPC: 'the file system is full: free some space on it',
    EDQUOT: 'a disk quota is used up: raise it or free some space',
    EROFS: 'the file system is mounted read-only: mount it writable or choose another --cpu-identity-dir',
    EACCES: 'permission denied',
    EPERM: 'not permitted: look for an immutable attribute (lsattr) or a security module',
    EBUSY: 'something is mounted in the directory: unmount it',
    ENOENT: 'the directory is gone',
    ENOTDIR: 'a part of the path is no directory: choose another --cpu-identity-dir',
    EEXIST: 'something that is no directory is there: remove it',
    ENOTEMPTY: 'the directory has files that are not of cpusetd: remove it',
    EISDIR: 'a directory is where a file is to be: remove it',
    EMFILE: 'cpusetd has too many files open: raise its limit (ulimit -n)',
  },
  'read a file': {
    EACCES: 'permission denied',
    ELOOP: 'is a symbolic link, or one that goes round in circles',
  },
  'write a new file': {
    ENOENT: 'there is no such folder',
    ENOTDIR: 'a part of the path is no folder',
    EACCES: 'permission denied',
    EROFS: 'the file system is read-only',
    ENOSPC: 'no space left on the device',
  },
  'write a cgroup file': {
    ENOENT: 'the controller is not enabled for this cgroup (cgroup.subtree_control of its parent)',
    EACCES: 'not permitted, or more than the parent cgroup has',
    EPERM: 'not permitted',
    EROFS: 'the cgroup file system is mounted read-only',
    EBUSY: 'a child cgroup or a task still needs what would be taken away',
    ENOSPC: 'tasks would be left without any CPU or memory node',
    ERANGE: 'a number is higher than this kernel supports',
    EINVAL: 'the kernel does not accept this value here',
  },
  'watch a file': {
    ENOSPC: 'raise fs.inotify.max_user_watches',
    EMFILE: 'raise fs.inotify.max_user_instances, or the number of files that cpusetd may have open',
  },
  'listen on a unix socket': {
    EACCES: 'permission denied',
    EPERM: 'not permitted',
    ENOTDIR: 'a part of the path is not a folder',
    EEXIST: 'a part of the path is not a folder',
    EROFS: 'the file system is read-only',
    ENOSPC: 'no space left on the device',
  },
  'listen on an address': {
    EADDRINUSE: 'another process listens there',
    EADDRNOTAVAIL: 'it is no address of this machine',
    ENOTFOUND: 'there is no such host',
    EAI_AGAIN: 'the host name could not be looked up',
    EACCES: 'permission denied',
    EMFILE: 'too many open files',
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The text for a system error, or undefined when the code has none for this operation. */
export function meaningOf(operation: Operation, code: string): string | undefined {
  const meanings: Readonly<Record<string, string>> = MEANINGS[operation];
  return meanings[code];
}

/** Node's code of a failed system call (`ENOSPC`); undefined for anything else. */
export function systemCodeOf(error: unknown): string | undefined {
  const code = (error as { readonly code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}
