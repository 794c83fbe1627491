import type * as grpc from '@grpc/grpc-js';

import {
  CpuManagerDefinition,
  ExplainResponse,
  type ExplainRequest,
  type WatchStatusRequest,
} from '../../../gen/cpusetd/v1/cpusetd';
import { CpusetdError } from '../../core/errors';
import type { AnswerQueue } from '../grpc/answer-queue';
import { decodeExplainQuery, encodeExplanation } from '../codec/explain';
import { EncodedStatus } from './encoded-status';
import { toGrpcService } from '../../net/grpc-service';
import { answerInTurn, toServiceError, type AdminLog } from '../grpc/unary-handler';
import type { AdminBackend } from '../model/backend';
import { streamLatest } from './stream-latest';

export interface CpuManagerParts {
  readonly backend: AdminBackend;
  readonly queue: AnswerQueue;
  readonly log: AdminLog;
  readonly closing: AbortSignal;
}

/** Most watchers at once. */
const MAX_WATCHERS = 128;

/** Adds cpusetd.v1.CpuManager. */
export function addCpuManagerService(server: grpc.Server, parts: CpuManagerParts): void {
  const { backend, queue, log, closing } = parts;
  const encoded = new EncodedStatus(backend);
  let watchers = 0;
  server.addService(toGrpcService(CpuManagerDefinition), {
    getStatus: answerInTurn(parts, () => encoded.status()),
    listAssignments: answerInTurn(parts, () => encoded.assignments()),
    getTopology: answerInTurn(parts, () => encoded.topology()),
    explain: answerInTurn(parts, (request: ExplainRequest) => {
      const query = decodeExplainQuery(request);
      if (query) return Buffer.from(ExplainResponse.encode(encodeExplanation(backend.explain(query))).finish());
      throw new CpusetdError('INVALID_ARGUMENT', 'nothing to explain: name a pod or a number of CPUs');
    }),
    watchStatus: (call: grpc.ServerWritableStream<WatchStatusRequest, Buffer>) => {
      const fail = (error: unknown): void => void call.emit('error', toServiceError(error, log));
      if (watchers >= MAX_WATCHERS) {
        fail(new CpusetdError('RESOURCE_EXHAUSTED', `${MAX_WATCHERS} watch the status already; end one of them`));
        return;
      }
      watchers += 1;
      let forget = (): void => undefined;
      call.once('cancelled', () => {
        watchers -= 1;
        forget();
      });
      forget = queue.add(() => {
        streamLatest(call, {
          snapshot: () => encoded.status(),
          subscribe: (listener) => backend.watch((change) => listener(encoded.changeOf(change))),
          closing,
          fail,
        });
      }, fail);
    },
  });
}
