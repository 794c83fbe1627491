import type * as grpc from '@grpc/grpc-js';

import {
  HealthCheckResponse,
  HealthCheckResponse_ServingStatus as Serving,
  HealthDefinition,
  type HealthCheckRequest,
} from '../../../gen/grpc/health/v1/health';
import { CpusetdError } from '../../core/errors';
import { toGrpcService } from '../../net/grpc-service';
import { answerUnary, toServiceError, type AdminLog } from '../grpc/unary-handler';
import { HEALTH_SERVICES, type HealthState, type ServingStatus } from '../health-state';
import { streamLatest } from './stream-latest';

/**
 * Adds grpc.health.v1.Health. For a service that does not exist, Check answers NOT_FOUND, and Watch sends
 * SERVICE_UNKNOWN and stays open, as the protocol requires.
 */
export function addHealthService(
  server: grpc.Server,
  { health, log, closing }: { readonly health: HealthState; readonly log: AdminLog; readonly closing: AbortSignal },
): void {
  server.addService(toGrpcService(HealthDefinition), {
    check: answerUnary(log, ({ service }: HealthCheckRequest) => {
      const status = health.get(service);
      if (status !== undefined) return respond(status);
      throw new CpusetdError('NOT_FOUND', `unknown service; known are ${HEALTH_SERVICES.map(quote).join(', ')}`);
    }),
    watch: (call: grpc.ServerWritableStream<HealthCheckRequest, HealthCheckResponse>) => {
      const { service } = call.request;
      streamLatest(call, {
        snapshot: () => respond(health.get(service)),
        subscribe: (listener) => health.onChange(service, (status) => listener(respond(status))),
        closing,
        fail: (error) => void call.emit('error', toServiceError(error, log)),
      });
    },
  });
}

function respond(status: ServingStatus | undefined): HealthCheckResponse {
  return HealthCheckResponse.create({ status: status === undefined ? Serving.SERVICE_UNKNOWN : Serving[status] });
}

function quote(service: string): string {
  return `"${service}"`;
}
