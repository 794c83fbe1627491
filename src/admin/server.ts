import * as grpc from '@grpc/grpc-js';

import { CpusetdError } from '../core/errors';
import { claimSocket } from './claim-socket';
import { addCpuManagerService } from './cpu-manager-service';
import type { AdminLog } from './grpc-service';
import { addHealthService } from './health-service';
import type { HealthState } from './health-state';
import { formatHostPort, type HostPort } from './host-port';
import { addReflectionService } from './reflection-service';
import type { AdminBackend } from './status';

export interface AdminServerOptions {
  readonly socketPath: string;
  /** For health alone, over TCP; absent = off. */
  readonly healthAddress?: HostPort | undefined;
  readonly backend: AdminBackend;
  readonly health: HealthState;
  readonly log: AdminLog;
  /** How long open calls may take to end at a close. */
  readonly drainMs?: number;
}

export interface AdminServer {
  /** The port that health listens on; undefined when off. */
  readonly healthPort: number | undefined;
  /** Ends the watchers, drains, removes the socket. May be called twice. */
  close(): Promise<void>;
}

/** Our requests are names and numbers: nobody needs to send more. */
const LIMITS: grpc.ServerOptions = {
  'grpc.max_receive_message_length': 64 * 1024,
  'grpc.max_concurrent_streams': 128,
};

/**
 * Starts the admin server on its unix socket (mode 0600), and health on TCP where asked for.
 *
 * Throws CpusetdError when an address can't be had; nothing is left open then.
 */
export async function startAdminServer(options: AdminServerOptions): Promise<AdminServer> {
  const { socketPath, healthAddress, backend, health, log, drainMs = 1_000 } = options;
  grpc.setLogVerbosity(grpc.logVerbosity.NONE); // its faults reach us as errors; standard error is not its to write
  const closing = new AbortController();
  const shared = { backend, health, log, closing: closing.signal };

  const server = new grpc.Server(LIMITS);
  addHealthService(server, shared);
  addCpuManagerService(server, shared);
  addReflectionService(server, shared);
  const removeSocket = await claimSocket(socketPath, (path) => bind(server, `unix:${path}`));

  const tcp = healthAddress === undefined ? undefined : new grpc.Server(LIMITS);
  let healthPort: number | undefined;
  if (tcp && healthAddress !== undefined) {
    addHealthService(tcp, shared);
    try {
      healthPort = await bind(tcp, formatHostPort(healthAddress));
    } catch (error) {
      server.forceShutdown();
      removeSocket();
      throw new CpusetdError(
        'FAILED_PRECONDITION',
        `can't listen on ${formatHostPort(healthAddress)} for health: it is in use, or no address of this machine; choose another --health-address`,
        { cause: error },
      );
    }
  }

  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    health.setAllNotServing(); // watchers hear it before their streams end
    closing.abort();
    removeSocket();
    await Promise.all([shutDown(server, drainMs), tcp && shutDown(tcp, drainMs)]);
  };
  return { healthPort, close: () => (closed ??= close()) };
}

function bind(server: grpc.Server, address: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, grpc.ServerCredentials.createInsecure(), (error, port) => {
      if (error) reject(error);
      else resolve(port);
    });
  });
}

function shutDown(server: grpc.Server, drainMs: number): Promise<void> {
  return new Promise((resolve) => {
    const force = setTimeout(() => server.forceShutdown(), drainMs);
    server.tryShutdown(() => {
      clearTimeout(force);
      resolve();
    });
  });
}
