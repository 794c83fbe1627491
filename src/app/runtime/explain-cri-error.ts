import { CpusetdError } from '../../core/errors';

/**
 * Why the runtime could not be asked over CRI, and what helps, as one text for the operator. The cases differ in what is to be done: a
 * socket that is not there may be another one's path, a runtime that hangs is not. The same case is always the same text, so
 * that it is said once.
 */
export function explainCriError(endpoint: string, error: CpusetdError): string {
  const { code, message } = error;
  const socket = endpoint.replace(/^unix:\/\//, '');
  if (code === 'DEADLINE_EXCEEDED')
    return `${message}: ${socket} takes connections, and what listens there hangs or is overloaded; look at the log of the runtime, and restart it if it stays so`;
  if (code === 'UNIMPLEMENTED')
    return `${message}; what listens at ${socket} serves no CRI: set --cri-endpoint to the CRI socket of the runtime, and in containerd leave its CRI plugin on`;
  if (code !== 'UNAVAILABLE') return `${message}; look at the log of the runtime`;
  const errno = /\b(ENOENT|ENOTDIR|ECONNREFUSED|EACCES|EPERM|ENOTSOCK|EPROTOTYPE)\b/.exec(message)?.[1];
  switch (errno) {
    case 'ENOENT':
    case 'ENOTDIR':
      return `there is no socket at ${socket}; start the runtime, or set --cri-endpoint to its CRI socket`;
    case 'ECONNREFUSED':
      return `${socket} is there and nobody listens on it; start the runtime`;
    case 'EACCES':
    case 'EPERM':
      return `cpusetd may not open ${socket} (${errno}); run it as root, or give it access to the socket`;
    case 'ENOTSOCK':
    case 'EPROTOTYPE':
      return `${socket} is no stream socket; set --cri-endpoint to the CRI socket of the runtime`;
    default:
      return `the connection to the runtime at ${socket} was lost or could not be made; check that the runtime runs`;
  }
}
