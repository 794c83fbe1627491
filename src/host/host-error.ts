/**
 * The node lacks something that cpusetd needs, or can't be understood. The message names it and the remedy. It ends a
 * command with exit status 1; in an answer over gRPC it counts as an internal error.
 */
export class HostError extends Error {
  override readonly name: string = 'HostError';
}
