import { asArray, asObject, asString, type JsonObject } from '../json';

/** The Node that an object belongs to. */
export interface NodeIdentity {
  readonly name: string;
  /** Empty when the API server does not report it. */
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * Makes the Node the owner of the object, so that both are deleted together. A deleted Node of the same name is no
 * owner.
 */
export function ownerPatch(stored: unknown, { name, uid }: NodeIdentity): JsonObject {
  const owners = asArray(stored).map(asObject);
  if (uid === '' || owners.some((owner) => asString(owner['uid']) === uid)) return {};
  const others = owners.filter((owner) => owner['kind'] !== 'Node' || owner['name'] !== name);
  return { ownerReferences: [...others, { apiVersion: 'v1', kind: 'Node', name, uid }] };
}
