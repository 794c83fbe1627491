import * as grpc from '@grpc/grpc-js';
import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

import { PodResourcesListerDefinition } from '../../../gen/podresources/v1/podresources';
import { CpusetdError } from '../../core/errors';
import { toGrpcService } from '../../net/grpc-service';

const TIMEOUT_MS = 2_000;
/** As the kubelet's own clients: thousands of devices. */
const MAX_BYTES = 16 * 1024 * 1024;
/** The kubelet takes 100 questions a second, of all its clients together: half of them are left to the others. */
const PAUSE_MS = 20;

/** The kubelet's own PodResources API, its answers as bytes. Each gives undefined where there is no such socket. */
export interface KubeletResources {
  /** A ListPodResourcesResponse. */
  readonly list: () => Promise<Buffer | undefined>;
  /** An AllocatableResourcesResponse. */
  readonly allocatable: () => Promise<Buffer | undefined>;
}

/**
 * Asks a kubelet on its socket. All who ask before a question goes out share its answer, so it is never older than any of theirs; the
 * next one goes out when that has come. Throws CpusetdError UNAVAILABLE when the socket is there and nobody answers: an answer
 * without devices would be taken for a node without devices.
 */
export function createKubeletResources(socketPath: string): KubeletResources {
  const methods = toGrpcService(PodResourcesListerDefinition);
  const ask = async (name: string): Promise<Buffer | undefined> => {
    if (!existsSync(socketPath)) return undefined;
    const client = new grpc.Client(`unix:${socketPath}`, grpc.credentials.createInsecure(), {
      'grpc.max_receive_message_length': MAX_BYTES,
    });
    try {
      return await new Promise<Buffer>((resolve, reject) => {
        client.makeUnaryRequest<Buffer, Buffer>(
          methods[name]!.path,
          (bytes) => bytes,
          (bytes) => bytes,
          Buffer.alloc(0), // neither request has a field
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
    list: shareAnswers(() => ask('list')),
    allocatable: shareAnswers(() => ask('getAllocatableResources')),
  };
}

/** One question at a time, with a pause between; who asks while one is under way gets the answer of the next. */
function shareAnswers<T>(ask: () => Promise<T>): () => Promise<T> {
  let next: Promise<T> | undefined;
  let free: Promise<unknown> = Promise.resolve();
  return () => {
    if (next) return next;
    const answer = free.then(() => {
      next = undefined; // who comes from now on is too late for this one
      const asked = ask();
      free = asked.catch(() => undefined).then(() => delay(PAUSE_MS, undefined, { ref: false }));
      return asked;
    });
    next = answer;
    return answer;
  };
}
