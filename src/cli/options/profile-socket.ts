import type { Logger } from 'pino';

/** Serves `cpusetd profile` on a socket that only our user can open; nothing without a path. Throws CpusetdError when it can't be opened. */
export async function openProfileSocket(
  path: string | undefined,
  log: Logger,
): Promise<{ close(): Promise<void> } | undefined> {
  if (path === undefined) return undefined;
  const { listenAt } = await import('../../admin/grpc/listener');
  const { startProfileServer } = await import('../../admin/server/admin-server');
  const listener = await listenAt(path, (err) => log.warn({ err }, 'a connection was not accepted'));
  log.info({ path }, 'profiles of this process can be taken');
  return startProfileServer({ listener, log });
}
