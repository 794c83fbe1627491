import type { KubeClient } from '../api/kube-client';
import { explainKubeError, KubeError } from '../api/kube-error';
import type { Right } from '../api/missing-rights';

export interface Eviction {
  readonly namespace: string;
  readonly name: string;
  /** The pod of this uid and no other is evicted: one that has its name now stays. */
  readonly uid: string;
  /** Seconds that the pod has to end; the pod's own by default. */
  readonly graceSeconds?: number;
}

/** `because` is written for the operator. */
export type EvictionOutcome =
  | { readonly kind: 'evicted' }
  /** A disruption budget does not allow it now, or the pod has more than one. */
  | { readonly kind: 'refused'; readonly because: string }
  /** There is no pod of this uid any more. */
  | { readonly kind: 'gone'; readonly because: string }
  /** It was not carried out, and nothing is known about the pod. `error`: for `MissingRights`. */
  | { readonly kind: 'failed'; readonly because: string; readonly error: unknown };

/** The right that `evictPod` needs. */
export const EVICT_PODS: Right = {
  verb: 'create',
  resource: 'pods/eviction',
  lost: 'no pod is evicted',
  file: 'deploy/components/qos/rbac.yaml',
};

/** The API server itself tries again for ten seconds when others change the pod or its budget. */
const TIMEOUT_MS = 30_000;

/**
 * Evicts a pod (policy/v1): the API server asks its disruption budgets and deletes it. Resolves when the deletion has
 * begun, not when the pod has ended. Never rejects.
 */
export async function evictPod(
  client: Pick<KubeClient, 'send'>,
  { namespace, name, uid, graceSeconds }: Eviction,
): Promise<EvictionOutcome> {
  try {
    await client.send({
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/pods/${name}/eviction`,
      body: {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { namespace, name },
        deleteOptions: {
          preconditions: { uid },
          ...(graceSeconds !== undefined && { gracePeriodSeconds: graceSeconds }),
        },
      },
      timeoutMs: TIMEOUT_MS,
    });
    return { kind: 'evicted' };
  } catch (error) {
    return readOutcome(error);
  }
}

function readOutcome(error: unknown): EvictionOutcome {
  const because = explainKubeError(error);
  if (!(error instanceof KubeError)) return { kind: 'failed', because, error };
  if (error.status === 404) return { kind: 'gone', because: 'there is no pod of this name any more' };
  // Another conflict has the same status and reason: somebody changed the pod or its budget at the same time.
  if (error.status === 409 && /UID in( the)? precondition/i.test(error.message))
    return { kind: 'gone', because: 'another pod has its name now' };
  // 429 alone: the API server has too much to do.
  const budget = error.causes.find(({ reason }) => reason === 'DisruptionBudget');
  if (error.status === 429 && budget) return { kind: 'refused', because: budget.message };
  // The API server's answer is 500, as for a fault of its own.
  if (error.status === 500 && /more than one PodDisruptionBudget/.test(error.message))
    return {
      kind: 'refused',
      because: 'the pod has more than one PodDisruptionBudget, so the API server does not evict it',
    };
  return { kind: 'failed', because, error };
}
