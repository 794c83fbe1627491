import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

import { PodResourcesListerDefinition } from '../../../gen/podresources/v1/podresources';
import { CpusetdError } from '../../core/errors';
import { GrpcClient, type Codec } from '../../net/grpc-client';

const TIMEOUT_MS = 2_000;
/** The kubelet accepts 100 calls a second from all its clients together; this leaves half of them to the others. */
const PAUSE_MS = 20;

/** An empty request, and an answer as its bytes. */
const BYTES: Codec<Buffer> = { encode: (bytes) => ({ finish: () => bytes }), decode: (bytes) => bytes };

/** The kubelet's own PodResources API, with answers as bytes; undefined when there is no such socket. */
export interface KubeletResources {
  /** A ListPodResourcesResponse. */
  readonly list: () => Promise<Buffer | undefined>;
  /** An AllocatableResourcesResponse. */
  readonly allocatable: () => Promise<Buffer | undefined>;
}

/**
 * Calls a kubelet on its socket. Callers that come before a call is sent share its answer, so the answer is never older
 * than their request; the next call is sent after the answer. Throws CpusetdError UNAVAILABLE when the socket is there
 * and does not answer: an answer without devices would mean a node without devices.
 */
export function createKubeletResources(socketPath: string, timeoutMs = TIMEOUT_MS): KubeletResources {
  const ask = async ({ name }: { readonly name: string }): Promise<Buffer | undefined> => {
    if (!existsSync(socketPath)) return undefined;
    const service = PodResourcesListerDefinition.fullName;
    const client = new GrpcClient({ endpoint: socketPath, service, peer: 'the kubelet' });
    try {
      const method = { name, requestType: BYTES, responseType: BYTES };
      return await client.call(method, Buffer.alloc(0), { timeoutMs }); // neither request has a field
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

/** One call at a time, with a pause between; a caller during a call gets the answer of the next. */
function shareAnswers<T>(ask: () => Promise<T>): () => Promise<T> {
  let next: Promise<T> | undefined;
  let free: Promise<unknown> = Promise.resolve();
  return () => {
    if (next) return next;
    const answer = free.then(() => {
      next = undefined; // later callers get the next call
      const asked = ask();
      free = asked.catch(() => undefined).then(() => delay(PAUSE_MS, undefined, { ref: false }));
      return asked;
    });
    next = answer;
    return answer;
  };
}
