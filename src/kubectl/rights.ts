import { CpusetdError } from '../core/errors';
import { explainKubeError, KubeError } from '../kube';

/** A right of RBAC that a call needs. */
export interface Right {
  readonly verb: string;
  /** With its group where it has one, and its subresource. */
  readonly resource: string;
  /** Absent: in the whole cluster. */
  readonly namespace?: string;
}

/** The ClusterRole and the Role with all rights. */
const REMEDY = 'bind the roles of deploy/kubectl/viewer.yaml to it';

/** The result of a call; its failure as a sentence for the operator, a refusal with the right that is missing. */
export async function withRight<T>(right: Right, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    if (error.status === 403) throw new CpusetdError('PERMISSION_DENIED', explainMissing(right), { cause: error });
    throw new CpusetdError(error.status === 404 ? 'NOT_FOUND' : 'UNAVAILABLE', explainKubeError(error), {
      cause: error,
    });
  }
}

export function explainMissing({ verb, resource, namespace }: Right): string {
  const where = namespace === undefined ? 'in the whole cluster' : `in namespace ${namespace}`;
  const check = `kubectl auth can-i ${verb} ${resource}${namespace === undefined ? ' --all-namespaces' : ` --namespace ${namespace}`}`;
  return `your identity may not ${verb} ${resource} ${where}: ${REMEDY}; check with ${check}`;
}

/** True for the failure of a call whose resource, or kind of resource, is not there. */
export function isMissing(error: unknown): boolean {
  return error instanceof CpusetdError && error.code === 'NOT_FOUND';
}
