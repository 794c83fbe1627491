import type * as grpc from '@grpc/grpc-js';

import {
  GetPodResourcesResponse,
  ListPodResourcesResponse,
  PodResourcesListerDefinition,
  type GetPodResourcesRequest,
  type PodResources,
} from '../../../gen/podresources/v1/podresources';
import { CpusetdError } from '../../core/errors';
import { answerUnary, toGrpcService, type AdminLog } from '../grpc-service';
import type { AdminBackend } from '../status';
import type { KubeletResources } from './ask-kubelet';
import { encodeAllocatable, encodePods } from './encode';
import { mergeAllocatable, mergePods } from './merge';

export interface PodResourcesParts {
  readonly backend: Pick<AdminBackend, 'podResources'>;
  readonly kubelet: KubeletResources;
  readonly log: AdminLog;
}

/** Adds v1.PodResourcesLister. */
export function addPodResourcesService(server: grpc.Server, { backend, kubelet, log }: PodResourcesParts): void {
  const listPods = async (): Promise<PodResources[]> => {
    const theirs = await kubelet.list();
    return mergePods(theirs?.podResources ?? [], encodePods(backend.podResources()));
  };
  server.addService(toGrpcService(PodResourcesListerDefinition), {
    list: answerUnary(log, async () => ListPodResourcesResponse.create({ podResources: await listPods() })),
    getAllocatableResources: answerUnary(log, async () => {
      const theirs = await kubelet.allocatable();
      const ours = encodeAllocatable(backend.podResources());
      return theirs ? mergeAllocatable(theirs, ours) : ours;
    }),
    get: answerUnary(log, async ({ podName, podNamespace }: GetPodResourcesRequest) => {
      const found = (await listPods()).find(({ name, namespace }) => name === podName && namespace === podNamespace);
      if (found) return GetPodResourcesResponse.create({ podResources: found });
      throw new CpusetdError('NOT_FOUND', `pod ${podName} in namespace ${podNamespace} not found`);
    }),
  });
}
