import { statSync } from 'node:fs';

import { MAX_SOCKET_PATH_BYTES } from './connect-socket';

/**
 * Why the runtime's socket can't be reached, for the operator: the path, the rule that is broken, what to do.
 *
 * Connecting to something that is not a socket gives ECONNREFUSED, like a socket nobody listens on; the file tells.
 */
export function explainConnectError(error: NodeJS.ErrnoException, path: string): string {
  switch (error.code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return `no socket at ${path}: the runtime has not been started, or NRI is switched off; enable it (containerd: disable = false under [plugins."io.containerd.nri.v1.nri"], CRI-O: enable_nri = true) or set --nri-socket`;
    case 'ECONNREFUSED':
      return isSocket(path)
        ? `nobody listens at ${path}: the runtime is down; it is connected as soon as it is back`
        : `${path} is not a socket: set --nri-socket to the runtime's NRI socket, and in a pod mount its directory rather than the socket`;
    case 'EACCES':
    case 'EPERM':
      return `permission denied at ${path}: only root may use the NRI socket; run as root, and allow it in SELinux or AppArmor`;
    case 'ENAMETOOLONG':
      return `the path ${path} is too long: a unix socket's path has at most ${MAX_SOCKET_PATH_BYTES} bytes; set --nri-socket to a shorter one`;
    default:
      return `connecting to ${path} failed: ${error.message}`;
  }
}

function isSocket(path: string): boolean {
  try {
    return statSync(path).isSocket();
  } catch {
    return true; // gone, or not to be looked at: then the plainer message is the right one
  }
}
