import * as grpc from '@grpc/grpc-js';

import {
  CpuManagerDefinition,
  type ExplainResponse,
  GetStatusRequest,
  type GetStatusResponse,
  GetTopologyRequest,
  type GetTopologyResponse,
  WatchStatusRequest,
  type WatchStatusResponse,
} from '../../../gen/cpusetd/v1/cpusetd';
import {
  HealthCheckResponse_ServingStatus as Serving,
  HealthDefinition,
  HealthCheckRequest,
  type HealthCheckResponse,
} from '../../../gen/grpc/health/v1/health';
import { CpusetdError, type ErrorCode } from '../../core/errors';
import { probeSocket, type SocketPresence } from '../../net/claim-socket';
import { decodeExplanation, encodeExplainQuery } from '../codec/explain';
import { decodeChange, decodeStatus } from '../codec/status';
import { decodeTopology } from '../codec/topology';
import { toGrpcService } from '../../net/grpc-service';
import type { ServingStatus } from '../health-state';
import type { ExplainQuery, Explanation, Status, StatusChange, TopologyStatus } from '../model/status';

const CALL_TIMEOUT_MS = 5_000;

/** Asks a running daemon over its admin socket. Every method throws CpusetdError with a message for the operator. */
export interface AdminClient {
  status(): Promise<Status>;
  /** The full status, then changes, until the signal aborts or the daemon ends it. */
  watch(signal: AbortSignal): AsyncIterable<StatusChange>;
  topology(): Promise<TopologyStatus>;
  explain(query: ExplainQuery): Promise<Explanation>;
  /** Undefined for a service that the daemon does not know. */
  checkHealth(service: string): Promise<ServingStatus | undefined>;
  /** Its health now, then at every change, until the signal aborts or the daemon ends it. Undefined as above. */
  watchHealth(service: string, signal: AbortSignal): AsyncIterable<ServingStatus | undefined>;
  close(): void;
}

/** Throws CpusetdError UNAVAILABLE when nobody answers on the socket, PERMISSION_DENIED when it may not be opened. */
export async function connectAdmin(
  socketPath: string,
  { callTimeoutMs = CALL_TIMEOUT_MS }: { readonly callTimeoutMs?: number } = {},
): Promise<AdminClient> {
  const presence = await probeSocket(socketPath);
  if (presence !== 'live') throw new CpusetdError(...UNREACHABLE[presence](socketPath));

  const client = new grpc.Client(`unix:${socketPath}`, grpc.credentials.createInsecure(), {
    'grpc.max_receive_message_length': 64 * 1024 * 1024, // thousands of containers
  });
  const methods = { ...toGrpcService(CpuManagerDefinition), ...toGrpcService(HealthDefinition) };

  /** It listens and does not answer. The library's own words tell of its inside. */
  const unanswered = (cause: grpc.ServiceError): CpusetdError => {
    const what = `cpusetd at ${socketPath} has not answered within ${callTimeoutMs / 1000} s`;
    const remedy = 'its process is stopped or very busy: look at it and at its log, and try again';
    return new CpusetdError('DEADLINE_EXCEEDED', `${what}; ${remedy}`, { cause });
  };

  const call = <Response>(name: string, request: unknown): Promise<Response> =>
    new Promise((resolve, reject) => {
      const { path, requestSerialize, responseDeserialize } = methods[name]!;
      const options = { deadline: Date.now() + callTimeoutMs };
      client.makeUnaryRequest<unknown, Response>(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        options,
        (error, response) => {
          if (error) reject(error.code === grpc.status.DEADLINE_EXCEEDED ? unanswered(error) : toCpusetdError(error));
          else resolve(response!);
        },
      );
    });

  async function* streamOf<Response>(name: string, request: unknown, signal: AbortSignal): AsyncGenerator<Response> {
    const { path, requestSerialize, responseDeserialize } = methods[name]!;
    const stream = client.makeServerStreamRequest<unknown, Response>(
      path,
      requestSerialize,
      responseDeserialize,
      request,
    );
    const cancel = (): void => stream.cancel();
    signal.addEventListener('abort', cancel);
    if (signal.aborted) cancel();
    try {
      for await (const message of stream as AsyncIterable<Response>) yield message;
    } catch (error) {
      if (!signal.aborted) throw toCpusetdError(error as grpc.ServiceError);
    } finally {
      signal.removeEventListener('abort', cancel);
      stream.cancel();
    }
  }

  return {
    async status() {
      const { status } = await call<GetStatusResponse>('getStatus', GetStatusRequest.create());
      if (status) return decodeStatus(status);
      throw new CpusetdError('DATA_LOSS', `what answers on ${socketPath} sent no status; is it cpusetd?`);
    },
    async *watch(signal) {
      for await (const event of streamOf<WatchStatusResponse>('watchStatus', WatchStatusRequest.create(), signal)) {
        const change = decodeChange(event);
        if (change) yield change;
      }
    },
    async topology() {
      return decodeTopology(await call<GetTopologyResponse>('getTopology', GetTopologyRequest.create()));
    },
    async explain(query) {
      return decodeExplanation(await call<ExplainResponse>('explain', encodeExplainQuery(query)));
    },
    async checkHealth(service) {
      try {
        const { status } = await call<HealthCheckResponse>('check', HealthCheckRequest.create({ service }));
        return decodeServing(status);
      } catch (error) {
        if (error instanceof CpusetdError && error.code === 'NOT_FOUND') return undefined;
        throw error;
      }
    },
    async *watchHealth(service, signal) {
      const request = HealthCheckRequest.create({ service });
      for await (const { status } of streamOf<HealthCheckResponse>('watch', request, signal))
        yield status === Serving.SERVICE_UNKNOWN ? undefined : decodeServing(status);
    },
    close: () => client.close(),
  };
}

function decodeServing(status: Serving): ServingStatus {
  return status === Serving.SERVING ? 'SERVING' : 'NOT_SERVING';
}

const UNREACHABLE: Readonly<
  Record<Exclude<SocketPresence, 'live'>, (path: string) => [code: ErrorCode, message: string]>
> = {
  absent: (path) => [
    'UNAVAILABLE',
    `no cpusetd at ${path}: there is no such socket; start cpusetd, or name its socket with --admin-socket`,
  ],
  stale: (path) => ['UNAVAILABLE', `no cpusetd at ${path}: nobody listens there any more; start cpusetd`],
  denied: (path) => [
    'PERMISSION_DENIED',
    `can't open ${path}: only the user who runs cpusetd may ask it; try again as root`,
  ],
  foreign: (path) => [
    'UNAVAILABLE',
    `no cpusetd at ${path}: this is not a socket; name its socket with --admin-socket`,
  ],
};

function toCpusetdError(error: grpc.ServiceError): CpusetdError {
  const code = (grpc.status[error.code] ?? 'UNKNOWN') as ErrorCode;
  return new CpusetdError(code, error.details || error.message, { cause: error });
}
