import { CpusetdError } from '../../core/errors';

/**
 * Returns the reason why the runtime could not be asked over CRI, with the remedy, as one text for the operator. Cases
 * with different remedies have different texts: a missing socket may be a wrong path, a runtime that hangs is not. The
 * same case always has the same text, so that it is logged once.
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
