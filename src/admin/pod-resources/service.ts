import type * as grpc from '@grpc/grpc-js';

import {
  AllocatableResourcesResponse,
  GetPodResourcesResponse,
  ListPodResourcesResponse,
  PodResourcesListerDefinition,
  type GetPodResourcesRequest,
} from '../../../gen/podresources/v1/podresources';
import { CpusetdError } from '../../core/errors';
import type { AnswerQueue } from '../grpc/answer-queue';
import { toGrpcService } from '../../net/grpc-service';
import { sendCounted, toServiceError, type AdminLog } from '../grpc/unary-handler';
import type { AdminBackend } from '../model/backend';
import type { ExclusiveResources } from '../model/pod-resources';
import type { KubeletResources } from './kubelet-client';
import { encodeAllocatable, encodePods } from './encode';
import { mergeAllocatable, mergePods } from './merge';

export interface PodResourcesParts {
  readonly backend: Pick<AdminBackend, 'podResources'>;
  readonly kubelet: KubeletResources;
  readonly queue: AnswerQueue;
  readonly log: AdminLog;
}

/** Most calls that wait for the kubelet. */
const MAX_WAITING = 1_024;

/** Adds v1.PodResourcesLister. */
export function addPodResourcesService(server: grpc.Server, { backend, kubelet, queue, log }: PodResourcesParts): void {
  let asking = 0;
  /** Calls the kubelet, then waits for its turn; our part is made in that turn. */
  const answer =
    <Request>(
      ask: () => Promise<Buffer | undefined>,
      encode: (theirs: Buffer | undefined, request: Request) => Buffer,
    ): grpc.handleUnaryCall<Request, Buffer> =>
    (call, callback) => {
      const fail = (error: unknown): void => callback(toServiceError(error, log));
      if (asking >= MAX_WAITING) {
        fail(new CpusetdError('RESOURCE_EXHAUSTED', 'too many calls at once wait for the kubelet; try again later'));
        return;
      }
      asking += 1;
      ask()
        .finally(() => (asking -= 1))
        .then((theirs) => {
          if (call.cancelled) return;
          const bytesOf = (): Buffer => encode(theirs, call.request);
          call.once(
            'cancelled',
            queue.add(() => sendCounted(call, callback, { queue, bytes: bytesOf() }), fail),
          );
        })
        .catch(fail);
    };

  const pods = mergeOnce((theirs, ours) => {
    const before = theirs ? ListPodResourcesResponse.decode(theirs).podResources : [];
    return mergePods(before, encodePods(ours));
  });
  const encodeList = once(pods, (podResources) =>
    ListPodResourcesResponse.encode(ListPodResourcesResponse.create({ podResources })),
  );
  const allocatable = mergeOnce((theirs, resources) => {
    const ours = encodeAllocatable(resources);
    return theirs ? mergeAllocatable(AllocatableResourcesResponse.decode(theirs), ours) : ours;
  });
  const encodeAll = once(allocatable, (response) => AllocatableResourcesResponse.encode(response));

  server.addService(toGrpcService(PodResourcesListerDefinition), {
    list: answer(kubelet.list, (theirs) => encodeList(theirs, backend.podResources())),
    getAllocatableResources: answer(kubelet.allocatable, (theirs) => encodeAll(theirs, backend.podResources())),
    get: answer(kubelet.list, (theirs, { podName, podNamespace }: GetPodResourcesRequest) => {
      const all = pods(theirs, backend.podResources());
      const found = all.find(({ name, namespace }) => name === podName && namespace === podNamespace);
      if (!found) throw new CpusetdError('NOT_FOUND', `pod ${podName} in namespace ${podNamespace} not found`);
      return Buffer.from(GetPodResourcesResponse.encode({ podResources: found }).finish());
    }),
  });
}

type Merge<T> = (theirs: Buffer | undefined, ours: ExclusiveResources) => T;

/** Keeps the merged answer until the kubelet's bytes or our object change. */
function mergeOnce<T>(merge: Merge<T>): Merge<T> {
  let last: { readonly theirs: Buffer | undefined; readonly ours: ExclusiveResources; readonly merged: T } | undefined;
  return (theirs, ours) => {
    if (!last || last.ours !== ours || !sameBytes(last.theirs, theirs))
      last = { theirs, ours, merged: merge(theirs, ours) };
    return last.merged;
  };
}

/** Encodes each merged object once. */
function once<T extends object>(merge: Merge<T>, encode: (merged: T) => { finish(): Uint8Array }): Merge<Buffer> {
  let last: { readonly merged: T; readonly bytes: Buffer } | undefined;
  return (theirs, ours) => {
    const merged = merge(theirs, ours);
    if (last?.merged !== merged) last = { merged, bytes: Buffer.from(encode(merged).finish()) };
    return last.bytes;
  };
}

function sameBytes(a: Buffer | undefined, b: Buffer | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.equals(b));
}
