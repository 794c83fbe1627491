import * as grpc from '@grpc/grpc-js';
import { setMaxListeners } from 'node:events';

import { CpuManagerDefinition } from '../../../gen/cpusetd/v1/cpusetd';
import { PodResourcesListerDefinition } from '../../../gen/podresources/v1/podresources';
import { CpusetdError } from '../../core/errors';
import { AnswerQueue } from './answer-queue';
import { addCpuManagerService } from './cpu-manager-service';
import { Guests, listenAt, type Door, type Usher } from './door';
import { toGrpcService } from '../../net/grpc-service';
import { toServiceError, type AdminLog } from './unary-handler';
import { addHealthService } from './health-service';
import type { HealthState } from '../health-state';
import type { HostPort } from '../../net/host-port';
import { createKubeletResources } from '../pod-resources/kubelet-client';
import { addPodResourcesService } from '../pod-resources/service';
import { addReflectionService } from './reflection-service';
import type { AdminBackend } from '../model/backend';

export interface AdminServerOptions {
  readonly doors: AdminDoors;
  /** The kubelet's own socket for PodResources. */
  readonly kubeletResourcesSocket: string;
  readonly backend: AdminBackend;
  readonly health: HealthState;
  readonly log: AdminLog;
  /** Maximum time a close waits for open calls. */
  readonly drainMs?: number;
  /** Time after which a silent connection is pinged, and time for the answer. */
  readonly keepAliveMs?: number;
}

/** The addresses of the admin server. */
export interface AdminDoors {
  readonly admin: Door;
  /** For PodResources alone. */
  readonly podResources?: Door;
}

export interface AdminServer {
  /** Ends the watchers, drains, removes the sockets. May be called twice. */
  close(): Promise<void>;
}

/** Requests are names and numbers, so they are short. */
const LIMITS: grpc.ServerOptions = {
  'grpc.max_receive_message_length': 64 * 1024,
  'grpc.max_concurrent_streams': 32, // of one connection; further calls wait in the client
  'grpc-node.max_session_memory': 16, // MB: of answers that a connection has not read, and of its headers
  'grpc.enable_channelz': 0,
  ...keepAliveAfter(10_000),
};
const MAX_CONNECTIONS = 32;
/** Most connections above that limit; they are answered RESOURCE_EXHAUSTED. */
const MOST_TURNED_AWAY = 16;
const TURNED_AWAY: grpc.ServerOptions = { ...LIMITS, 'grpc.max_connection_idle_ms': 5_000 };
/** Most connections of the health server; above that the oldest is closed. */
const MAX_HEALTH_CONNECTIONS = 64;

const DRAIN_MS = 1_000;

/** Ends a connection whose process has stopped or hangs, since it uses memory and counts towards the limit. */
function keepAliveAfter(ms: number): grpc.ServerOptions {
  return { 'grpc.keepalive_time_ms': ms, 'grpc.keepalive_timeout_ms': ms };
}

/** Serves the admin API at the doors. */
export function startAdminServer(options: AdminServerOptions): AdminServer {
  const { doors, backend, health, log, drainMs = DRAIN_MS, keepAliveMs } = options;
  grpc.setLogVerbosity(grpc.logVerbosity.NONE); // its faults are reported as errors; the library must not write to standard error
  const closing = new AbortController();
  setMaxListeners(0, closing.signal); // one for each watcher
  const kubelet = createKubeletResources(options.kubeletResourcesSocket);
  const shared = { backend, health, kubelet, log, closing: closing.signal };

  const limits = { ...LIMITS, ...(keepAliveMs !== undefined && keepAliveAfter(keepAliveMs)) };
  const server = new grpc.Server(limits);
  const parts = { ...shared, queue: new AnswerQueue() };
  addHealthService(server, shared);
  addCpuManagerService(server, parts);
  addPodResourcesService(server, parts);
  addReflectionService(server, shared);
  const crowd = new grpc.Server(TURNED_AWAY);
  addHealthService(crowd, shared);
  addRefusal(crowd, log);
  doors.admin.open(usherTo(server, crowd));

  const servers = [server, crowd];
  if (doors.podResources) {
    const forConsumers = new grpc.Server(limits); // with its own queue, so that consumers do not delay operators
    addPodResourcesService(forConsumers, { ...shared, queue: new AnswerQueue() });
    doors.podResources.open(usherTo(forConsumers, crowd));
    servers.push(forConsumers);
  }

  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    health.setAllNotServing(); // watchers get it before their streams end
    closing.abort();
    for (const door of [doors.admin, doors.podResources]) door?.close();
    await Promise.all(servers.map((each) => shutDown(each, drainMs)));
  };
  return { close: () => (closed ??= close()) };
}

export interface HealthServer {
  readonly port: number;
  /** Ends the watchers and open connections. May be called twice. */
  close(): Promise<void>;
}

/** Serves only health, over TCP. Throws the system's error (EADDRINUSE, EADDRNOTAVAIL) when it can't listen on the address. */
export async function startHealthServer({
  address,
  health,
  log,
  drainMs = DRAIN_MS,
}: {
  readonly address: HostPort;
  readonly health: HealthState;
  readonly log: AdminLog;
  readonly drainMs?: number;
}): Promise<HealthServer> {
  grpc.setLogVerbosity(grpc.logVerbosity.NONE);
  const door = await listenAt(address, (err) => log.warn({ err }, 'a connection was not accepted'));
  const closing = new AbortController();
  setMaxListeners(0, closing.signal); // one for each watcher
  const server = new grpc.Server(LIMITS);
  addHealthService(server, { health, log, closing: closing.signal });
  const guests = new Guests(MAX_HEALTH_CONNECTIONS);
  const inject = injectorOf(server);
  door.open((socket) => {
    guests.add(socket);
    inject(socket);
  });
  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    health.setAllNotServing();
    closing.abort();
    door.close();
    await shutDown(server, drainMs);
  };
  return { port: door.port!, close: () => (closed ??= close()) };
}

/** Serves connections up to the limit. Those above it get health, and RESOURCE_EXHAUSTED for all other calls. */
function usherTo(server: grpc.Server, crowd: grpc.Server): Usher {
  const [serve, turnAway] = [injectorOf(server), injectorOf(crowd)];
  const [served, turnedAway] = [new Guests(MAX_CONNECTIONS), new Guests(MOST_TURNED_AWAY)];
  return (socket) => {
    const isServed = served.size < MAX_CONNECTIONS;
    (isServed ? served : turnedAway).add(socket);
    (isServed ? serve : turnAway)(socket);
  };
}

function injectorOf(server: grpc.Server): Usher {
  const injector = server.createConnectionInjector(grpc.ServerCredentials.createInsecure());
  return (socket) => injector.injectConnection(socket);
}

/** Answers RESOURCE_EXHAUSTED to all calls except health. */
function addRefusal(server: grpc.Server, log: AdminLog): void {
  const error = new CpusetdError(
    'RESOURCE_EXHAUSTED',
    `${MAX_CONNECTIONS} connections are open already; end one of them, or try again later`,
  );
  for (const definition of [CpuManagerDefinition, PodResourcesListerDefinition]) {
    const service = toGrpcService(definition);
    const unary: grpc.handleUnaryCall<unknown, unknown> = (_call, callback) => callback(toServiceError(error, log));
    const stream = (call: grpc.ServerWritableStream<unknown, unknown>): void =>
      void call.emit('error', toServiceError(error, log));
    server.addService(
      service,
      Object.fromEntries(
        Object.entries(service).map(([name, { responseStream }]) => [name, responseStream ? stream : unary]),
      ),
    );
  }
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
