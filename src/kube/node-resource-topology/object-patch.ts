import { asArray, asObject, asString, type JsonObject } from '../json';
import { createMergePatch } from './merge-patch';
import type { NodeIdentity, Report, TopologyKind } from './topology-resource';

/** The object to create. */
export function buildObject(kind: TopologyKind, now: Report): JsonObject {
  const metadata = { name: now.node.name, ...ownerPatch(undefined, now.node) };
  return { apiVersion: kind.apiVersion, kind: 'NodeResourceTopology', ...kind.build(now), metadata };
}

/** The merge patch for our fields in the stored object that differ; without keys when none does. */
export function patchFor(stored: JsonObject, kind: TopologyKind, now: Report): JsonObject {
  const { annotations, ownerReferences } = asObject(stored['metadata']);
  const superseded = kind.superseded.filter((name) => asObject(annotations)[name] !== undefined);
  const metadata = {
    ...ownerPatch(ownerReferences, now.node),
    ...(superseded.length > 0 && { annotations: Object.fromEntries(superseded.map((name) => [name, null])) }),
  };
  return {
    ...createMergePatch(stored, kind.withForeign(stored, kind.build(now))),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
}

/** Makes the Node the owner of the object, so that both are deleted together. A deleted Node of the same name is no owner. */
export function ownerPatch(stored: unknown, { name, uid }: NodeIdentity): JsonObject {
  const owners = asArray(stored).map(asObject);
  if (uid === '' || owners.some((owner) => asString(owner['uid']) === uid)) return {};
  const others = owners.filter((owner) => owner['kind'] !== 'Node' || owner['name'] !== name);
  return { ownerReferences: [...others, { apiVersion: 'v1', kind: 'Node', name, uid }] };
}
