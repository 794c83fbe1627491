import type { KubeClient } from '../kube';
import { UsageError } from '../cli/context';
import { namespaceOf } from './options';

export interface PodName {
  readonly namespace: string;
  readonly name: string;
}

/** Names of Kubernetes: what is none never becomes a part of a path. */
const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

/**
 * A pod as an operator names it: `namespace/name`, or a name in the namespace of `-n` or of the context. Throws
 * UsageError.
 */
export async function parsePodName(text: string, given: string | undefined, client: KubeClient): Promise<PodName> {
  const parts = text.split('/');
  const [namespace, name] = parts.length === 2 ? parts : [undefined, text];
  if (parts.length > 2 || !NAME.test(name) || (namespace !== undefined && !NAME.test(namespace)))
    throw new UsageError(`pod "${text}": is no name of a pod; write namespace/name, or the name and -n NAMESPACE`);
  if (namespace !== undefined && given !== undefined && given !== namespace)
    throw new UsageError(`pod "${text}": is not in --namespace ${given}; name one of them`);
  return { namespace: namespace ?? checkName(given, 'namespace') ?? (await namespaceOf(client)), name: name };
}

/** The name itself. Throws UsageError for a text that can't be one. */
export function checkName<T extends string | undefined>(name: T, what: string): T {
  if (name === undefined || NAME.test(name)) return name;
  throw new UsageError(`${what} "${name}": is no name of Kubernetes; it has small letters, digits, "-" and "."`);
}
