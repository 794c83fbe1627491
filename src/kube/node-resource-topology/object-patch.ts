import { asArray, asObject, asString, type JsonObject } from '../json';
import { createMergePatch } from './merge-patch';
import type { NodeIdentity, Report, TopologyKind } from './topology-resource';

/** The object as it is created. */
export function buildObject(kind: TopologyKind, now: Report): JsonObject {
  const metadata = { name: now.node.name, ...ownerPatch(undefined, now.node) };
  return { apiVersion: kind.apiVersion, kind: 'NodeResourceTopology', ...kind.build(now), metadata };
}

/** The merge patch of what in the stored object is ours and says something else; without keys when nothing does. */
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

/** The object belongs to its Node, and goes with it; a Node of the same name that is no more does not count. */
function ownerPatch(stored: unknown, { name, uid }: NodeIdentity): JsonObject {
  const owners = asArray(stored).map(asObject);
  if (uid === '' || owners.some((owner) => asString(owner['uid']) === uid)) return {};
  const others = owners.filter((owner) => owner['kind'] !== 'Node' || owner['name'] !== name);
  return { ownerReferences: [...others, { apiVersion: 'v1', kind: 'Node', name, uid }] };
}
