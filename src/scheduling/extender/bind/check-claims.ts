import type { Logger } from 'pino';
import { TOPOLOGY_RESULT } from '../../../core/annotations/topology-result';
import { explainKubeError, KubeError, readPod, type KubeClient } from '../../../kube';
import { pause } from '../../../net/pause';
import type { OldClaim, TopologyState } from '../cluster/topology-state';

export interface ClaimCheckParts {
  readonly client: Pick<KubeClient, 'send'>;
  readonly state: Pick<TopologyState, 'listOldClaims' | 'dropClaim'>;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly everyMs?: number;
}

const EVERY_MS = 15_000;
/** A binding has ended long before, and the API server has given up a request that it got then. */
const OLD_MS = 90_000;
/** Claims of one round; each costs a request. */
const MAX_CLAIMS = 100;
const CALL_MS = 5_000;

/**
 * Drops claims whose pod was not bound: its extender was killed, or had no answer to its binding. Also of a pod that
 * ended before this replica has seen it. Without this they would take CPUs until they are too old. Runs until the
 * signal aborts; never rejects.
 */
export async function keepCheckingClaims({ signal, everyMs = EVERY_MS, ...parts }: ClaimCheckParts): Promise<void> {
  for (;;) {
    await pause(everyMs, signal);
    if (signal.aborted) return;
    await checkClaims(parts);
  }
}

/** Makes one round. A claim whose pod can't be read stays. */
export async function checkClaims({ client, state, log }: Omit<ClaimCheckParts, 'signal' | 'everyMs'>): Promise<void> {
  for (const old of state.listOldClaims(OLD_MS).slice(0, MAX_CLAIMS)) {
    try {
      if (await isVoid(client, old)) {
        state.dropClaim(old);
        log.info({ node: old.node, pod: old.claim.pod }, 'the claim of a pod that was not bound is dropped');
      }
    } catch (error) {
      log.debug({ node: old.node, pod: old.claim.pod, because: explainKubeError(error) }, 'a claim can’t be checked');
    }
  }
}

/** False only for a pod that is bound to the node of the claim, runs, and says its zones: the watch will show it. */
async function isVoid(client: ClaimCheckParts['client'], { uid, node, claim }: OldClaim): Promise<boolean> {
  const [namespace = '', name = ''] = claim.pod.split('/');
  if (namespace === '' || name === '') return false;
  let object: unknown;
  try {
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`;
    object = await client.send({ method: 'GET', path, timeoutMs: CALL_MS });
  } catch (error) {
    if (error instanceof KubeError && error.status === 404) return true;
    throw error;
  }
  const pod = readPod(object);
  if (!pod) return false;
  return pod.uid !== uid || pod.node !== node || !Object.hasOwn(pod.annotations, TOPOLOGY_RESULT) || pod.hasFinished;
}
