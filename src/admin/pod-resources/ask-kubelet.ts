import * as grpc from '@grpc/grpc-js';
import { existsSync } from 'node:fs';

import {
  AllocatableResourcesRequest,
  ListPodResourcesRequest,
  PodResourcesListerDefinition,
  type AllocatableResourcesResponse,
  type ListPodResourcesResponse,
} from '../../../gen/podresources/v1/podresources';
import { CpusetdError } from '../../core/errors';
import { toGrpcService } from '../grpc-service';

const TIMEOUT_MS = 2_000;
/** As the kubelet's own clients: thousands of devices. */
const MAX_BYTES = 16 * 1024 * 1024;

/** The kubelet's own PodResources API. Each method gives undefined where there is no such socket. */
export interface KubeletResources {
  list(): Promise<ListPodResourcesResponse | undefined>;
  allocatable(): Promise<AllocatableResourcesResponse | undefined>;
}

/**
 * Asks a kubelet on its socket. Throws CpusetdError UNAVAILABLE when the socket is there and nobody answers: an answer
 * without devices would be taken for a node without devices.
 */
export function createKubeletResources(socketPath: string): KubeletResources {
  const methods = toGrpcService(PodResourcesListerDefinition);
  const ask = async <Response>(name: string, request: unknown): Promise<Response | undefined> => {
    if (!existsSync(socketPath)) return undefined;
    const client = new grpc.Client(`unix:${socketPath}`, grpc.credentials.createInsecure(), {
      'grpc.max_receive_message_length': MAX_BYTES,
    });
    const { path, requestSerialize, responseDeserialize } = methods[name]!;
    try {
      return await new Promise<Response>((resolve, reject) => {
        client.makeUnaryRequest<unknown, Response>(
          path,
          requestSerialize,
          responseDeserialize,
          request,
          { deadline: Date.now() + TIMEOUT_MS },
          (error, response) => {
            if (error) reject(error);
            else resolve(response!);
          },
        );
      });
    } catch (error) {
      throw new CpusetdError('UNAVAILABLE', 'the kubelet does not answer for devices on its own PodResources socket', {
        cause: error,
      });
    } finally {
      client.close();
    }
  };
  return {
    list: () => ask('list', ListPodResourcesRequest.create()),
    allocatable: () => ask('getAllocatableResources', AllocatableResourcesRequest.create()),
  };
}
