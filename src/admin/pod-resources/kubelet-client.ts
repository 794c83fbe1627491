import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

import { PodResourcesListerDefinition } from '../../../gen/podresources/v1/podresources';
import { CpusetdError } from '../../core/errors';
import { GrpcClient, type Codec } from '../../net/grpc-client';

const TIMEOUT_MS = 2_000;
/** The kubelet takes 100 questions a second from all its clients together: half of them are left to the others. */
const PAUSE_MS = 20;

/** An empty request, and an answer as its bytes. */
const BYTES: Codec<Buffer> = { encode: (bytes) => ({ finish: () => bytes }), decode: (bytes) => bytes };

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
  const ask = async ({ name }: { readonly name: string }): Promise<Buffer | undefined> => {
    if (!existsSync(socketPath)) return undefined;
    const service = PodResourcesListerDefinition.fullName;
    const client = new GrpcClient({ endpoint: socketPath, service, peer: 'the kubelet' });
    try {
      const method = { name, requestType: BYTES, responseType: BYTES };
      return await client.call(method, Buffer.alloc(0), { timeoutMs: TIMEOUT_MS }); // neither request has a field
    } catch (error) {
      throw new CpusetdError('UNAVAILABLE', 'the kubelet does not answer for devices on its own PodResources socket', {
        cause: error,
      });
    } finally {
      client.close();
    }
  };
  const { methods } = PodResourcesListerDefinition;
  return {
    list: shareAnswers(() => ask(methods.list)),
    allocatable: shareAnswers(() => ask(methods.getAllocatableResources)),
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
