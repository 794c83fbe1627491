import * as grpc from '@grpc/grpc-js';

import { CpusetdError } from '../core/errors';
import { claimSocket } from '../wire/claim-socket';
import { addCpuManagerService } from './cpu-manager-service';
import type { AdminLog } from './grpc-service';
import { addHealthService } from './health-service';
import type { HealthState } from './health-state';
import { formatHostPort, type HostPort } from './host-port';
import { createKubeletResources } from './pod-resources/ask-kubelet';
import { addPodResourcesService } from './pod-resources/service';
import { addReflectionService } from './reflection-service';
import type { AdminBackend } from './status';

export interface AdminServerOptions {
  readonly socketPath: string;
  /** For health alone, over TCP; absent = off. */
  readonly healthAddress?: HostPort | undefined;
  /** For PodResources alone; absent = off. */
  readonly podResourcesSocket?: string | undefined;
  /** The kubelet's own socket for PodResources. */
  readonly kubeletResourcesSocket: string;
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
  const { socketPath, healthAddress, podResourcesSocket, backend, health, log, drainMs = 1_000 } = options;
  grpc.setLogVerbosity(grpc.logVerbosity.NONE); // its faults reach us as errors; standard error is not its to write
  const closing = new AbortController();
  const shared = { backend, health, log, closing: closing.signal };
  const podResources = { backend, kubelet: createKubeletResources(options.kubeletResourcesSocket), log };

  const open: { readonly server: grpc.Server; readonly removeSocket?: () => void }[] = [];
  const listen = async (path: string, server: grpc.Server): Promise<void> => {
    open.push({ server, removeSocket: await claimSocket(path, (bound) => bind(server, `unix:${bound}`)) });
  };
  const shutDownAll = (drainingMs: number): Promise<unknown> => {
    for (const { removeSocket } of open) removeSocket?.();
    return Promise.all(open.map(({ server }) => shutDown(server, drainingMs)));
  };

  let healthPort: number | undefined;
  try {
    const server = new grpc.Server(LIMITS);
    addHealthService(server, shared);
    addCpuManagerService(server, shared);
    addPodResourcesService(server, podResources);
    addReflectionService(server, shared);
    await listen(socketPath, server);

    if (podResourcesSocket !== undefined) {
      const forConsumers = new grpc.Server(LIMITS);
      addPodResourcesService(forConsumers, podResources);
      await listen(podResourcesSocket, forConsumers);
    }
    if (healthAddress !== undefined) {
      const tcp = new grpc.Server(LIMITS);
      addHealthService(tcp, shared);
      healthPort = await bindHealth(tcp, healthAddress);
      open.push({ server: tcp });
    }
  } catch (error) {
    await shutDownAll(0);
    throw error;
  }

  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    health.setAllNotServing(); // watchers hear it before their streams end
    closing.abort();
    await shutDownAll(drainMs);
  };
  return { healthPort, close: () => (closed ??= close()) };
}

async function bindHealth(server: grpc.Server, address: HostPort): Promise<number> {
  try {
    return await bind(server, formatHostPort(address));
  } catch (error) {
    throw new CpusetdError(
      'FAILED_PRECONDITION',
      `can't listen on ${formatHostPort(address)} for health: it is in use, or no address of this machine; choose another --health-address`,
      { cause: error },
    );
  }
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
