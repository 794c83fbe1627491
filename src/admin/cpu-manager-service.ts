import type * as grpc from '@grpc/grpc-js';

import {
  CpuManagerDefinition,
  ExplainResponse,
  GetStatusResponse,
  ListAssignmentsResponse,
  type ExplainRequest,
  type WatchStatusRequest,
  type WatchStatusResponse,
} from '../../gen/cpusetd/v1/cpusetd';
import { CpusetdError } from '../core/errors';
import { encodeAssignment } from './codec/assignment';
import { decodeExplainQuery, encodeExplanation } from './codec/explain';
import { encodeChange, encodeStatus } from './codec/status';
import { encodeTopology } from './codec/topology';
import { answerUnary, toGrpcService, toServiceError, type AdminLog } from './grpc-service';
import type { AdminBackend } from './status';
import { streamLatest } from './stream-latest';

/** Adds cpusetd.v1.CpuManager. */
export function addCpuManagerService(
  server: grpc.Server,
  { backend, log, closing }: { readonly backend: AdminBackend; readonly log: AdminLog; readonly closing: AbortSignal },
): void {
  server.addService(toGrpcService(CpuManagerDefinition), {
    getStatus: answerUnary(log, () => GetStatusResponse.create({ status: encodeStatus(backend.status()) })),
    listAssignments: answerUnary(log, () =>
      ListAssignmentsResponse.create({ assignments: backend.assignments().map(encodeAssignment) }),
    ),
    getTopology: answerUnary(log, () => encodeTopology(backend.topology())),
    explain: answerUnary(log, (request: ExplainRequest): ExplainResponse => {
      const query = decodeExplainQuery(request);
      if (query) return encodeExplanation(backend.explain(query));
      throw new CpusetdError('INVALID_ARGUMENT', 'nothing to explain: name a pod or a number of CPUs');
    }),
    watchStatus: (call: grpc.ServerWritableStream<WatchStatusRequest, WatchStatusResponse>) => {
      try {
        streamLatest(call, {
          snapshot: () => encodeChange({ kind: 'full', status: backend.status() }),
          subscribe: (listener) => backend.watch((change) => listener(encodeChange(change))),
          closing,
        });
      } catch (error) {
        call.emit('error', toServiceError(error, log));
      }
    },
  });
}
