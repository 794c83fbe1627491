import * as grpc from '@grpc/grpc-js';
import { setMaxListeners } from 'node:events';

import { CpuManagerDefinition } from '../../../gen/cpusetd/v1/cpusetd';
import { ProfilerDefinition } from '../../../gen/cpusetd/v1/profiler';
import { PodResourcesListerDefinition } from '../../../gen/podresources/v1/podresources';
import { CpusetdError } from '../../core/errors';
import { AnswerQueue } from '../grpc/answer-queue';
import { addCpuManagerService } from './cpu-manager-service';
import { LimitedConnections } from '../../net/limited-connections';
import { listenAt, type Listener, type ConnectionHandler } from '../grpc/listener';
import { toGrpcService } from '../../net/grpc-service';
import { toServiceError, type AdminLog } from '../grpc/unary-handler';
import { addHealthService } from './health-service';
import type { HealthState } from '../health-state';
import type { HostPort } from '../../net/host-port';
import { createKubeletResources } from '../pod-resources/kubelet-client';
import { addPodResourcesService } from '../pod-resources/service';
import { addProfilerService } from './profiler-service';
import { addReflectionService } from './reflection-service';
import type { AdminBackend } from '../model/backend';

export interface AdminServerOptions {
  readonly listeners: AdminListeners;
  /** The kubelet's own socket for PodResources. */
  readonly kubeletResourcesSocket: string;
  /** Maximum time for an answer of the kubelet. */
  readonly kubeletTimeoutMs?: number;
  readonly backend: AdminBackend;
  readonly health: HealthState;
  /** Profiles of this process may be taken now. */
  readonly allowsProfiles?: () => boolean;
  readonly log: AdminLog;
  /** Maximum time a close waits for open calls. */
  readonly drainMs?: number;
  /** Time after which a silent connection is pinged, and time for the answer. */
  readonly keepAliveMs?: number;
}

/** The addresses of the admin server. */
export interface AdminListeners {
  readonly admin: Listener;
  /** For PodResources alone. */
  readonly podResources?: Listener;
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
const MAX_OVERFLOW = 16;
const OVERFLOW: grpc.ServerOptions = { ...LIMITS, 'grpc.max_connection_idle_ms': 5_000 };
/** Most connections of the health server; above that the oldest is closed. */
const MAX_HEALTH_CONNECTIONS = 64;

const DRAIN_MS = 1_000;

/** Ends a connection whose process has stopped or hangs, since it uses memory and counts towards the limit. */
function keepAliveAfter(ms: number): grpc.ServerOptions {
  return { 'grpc.keepalive_time_ms': ms, 'grpc.keepalive_timeout_ms': ms };
}

/** Serves the admin API on the listeners. */
export function startAdminServer(options: AdminServerOptions): AdminServer {
  const { listeners, backend, health, log, drainMs = DRAIN_MS, keepAliveMs } = options;
  grpc.setLogVerbosity(grpc.logVerbosity.NONE); // its faults are reported as errors; the library must not write to standard error
  const closing = new AbortController();
  setMaxListeners(0, closing.signal); // one for each watcher
  const kubelet = createKubeletResources(options.kubeletResourcesSocket, options.kubeletTimeoutMs);
  const shared = { backend, health, kubelet, log, closing: closing.signal };

  const limits = { ...LIMITS, ...(keepAliveMs !== undefined && keepAliveAfter(keepAliveMs)) };
  const server = new grpc.Server(limits);
  const parts = { ...shared, queue: new AnswerQueue() };
  addHealthService(server, shared);
  addCpuManagerService(server, parts);
  addPodResourcesService(server, parts);
  addProfilerService(server, { ...shared, allowsProfiles: options.allowsProfiles ?? (() => false) });
  addReflectionService(server, shared);
  const overflow = new grpc.Server(OVERFLOW);
  addHealthService(overflow, shared);
  addRefusal(overflow, log);
  listeners.admin.open(limitTo(server, overflow));

  const servers = [server, overflow];
  if (listeners.podResources) {
    const forConsumers = new grpc.Server(limits); // with its own queue, so that consumers do not delay operators
    addPodResourcesService(forConsumers, { ...shared, queue: new AnswerQueue() });
    listeners.podResources.open(limitTo(forConsumers, overflow));
    servers.push(forConsumers);
  }

  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    health.setAllNotServing(); // watchers get it before their streams end
    closing.abort();
    for (const listener of [listeners.admin, listeners.podResources]) listener?.close();
    await Promise.all(servers.map((each) => shutDown(each, drainMs)));
  };
  return { close: () => (closed ??= close()) };
}

export interface HealthServer {
  readonly port: number;
  /** Ends the watchers and open connections. May be called twice. */
  close(): Promise<void>;
}

/**
 * Serves only health, over TCP. Throws the system's error (EADDRINUSE, EADDRNOTAVAIL) when it can't listen on the
 * address.
 */
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
  const listener = await listenAt(address, (err) => log.warn({ err }, 'a connection was not accepted'));
  const closing = new AbortController();
  setMaxListeners(0, closing.signal); // one for each watcher
  const server = new grpc.Server(LIMITS);
  addHealthService(server, { health, log, closing: closing.signal });
  const connections = new LimitedConnections(MAX_HEALTH_CONNECTIONS);
  const inject = injectorOf(server);
  listener.open((socket) => {
    connections.add(socket);
    inject(socket);
  });
  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    health.setAllNotServing();
    closing.abort();
    listener.close();
    await shutDown(server, drainMs);
  };
  return { port: listener.port!, close: () => (closed ??= close()) };
}

/** Serves only profiles of this process, on a unix socket of a process that has no admin socket. */
export function startProfileServer({
  listener,
  log,
  drainMs = DRAIN_MS,
}: {
  readonly listener: Listener;
  readonly log: AdminLog;
  readonly drainMs?: number;
}): AdminServer {
  grpc.setLogVerbosity(grpc.logVerbosity.NONE);
  const closing = new AbortController();
  const server = new grpc.Server(LIMITS);
  addProfilerService(server, { allowsProfiles: () => true, log, closing: closing.signal });
  const connections = new LimitedConnections(MAX_CONNECTIONS);
  const inject = injectorOf(server);
  listener.open((socket) => {
    connections.add(socket);
    inject(socket);
  });
  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    closing.abort();
    listener.close();
    await shutDown(server, drainMs);
  };
  return { close: () => (closed ??= close()) };
}

/** Serves connections up to the limit. Those above it get health, and RESOURCE_EXHAUSTED for all other calls. */
function limitTo(server: grpc.Server, overflow: grpc.Server): ConnectionHandler {
  const [serve, refuse] = [injectorOf(server), injectorOf(overflow)];
  const [served, refused] = [new LimitedConnections(MAX_CONNECTIONS), new LimitedConnections(MAX_OVERFLOW)];
  return (socket) => {
    const isServed = served.size < MAX_CONNECTIONS;
    (isServed ? served : refused).add(socket);
    (isServed ? serve : refuse)(socket);
  };
}

function injectorOf(server: grpc.Server): ConnectionHandler {
  const injector = server.createConnectionInjector(grpc.ServerCredentials.createInsecure());
  return (socket) => injector.injectConnection(socket);
}

/** Answers RESOURCE_EXHAUSTED to all calls except health. */
function addRefusal(server: grpc.Server, log: AdminLog): void {
  const error = new CpusetdError(
    'RESOURCE_EXHAUSTED',
    `${MAX_CONNECTIONS} connections are open already; end one of them, or try again later`,
  );
  for (const definition of [CpuManagerDefinition, PodResourcesListerDefinition, ProfilerDefinition]) {
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
