import { asObject, type JsonObject } from '../json';
import { createMergePatch } from '../objects/merge-patch';
import type { Report, TopologyKind } from './topology-resource';
import { ownerPatch } from '../objects/owner-reference';

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
