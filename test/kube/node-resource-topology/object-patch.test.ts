import { buildObject, patchFor } from '../../../src/kube/node-resource-topology/object-patch';
import type { Report, TopologyKind } from '../../../src/kube/node-resource-topology/topology-resource';

const kind: TopologyKind = {
  name: 'crane',
  apiVersion: 'v1',
  path: '/objects',
  build: ({ fingerprint = 'none' }) => ({ fingerprint }),
  withForeign: (_stored, fields) => fields,
  superseded: ['old'],
};
const reportFor = (uid: string, fingerprint?: string) =>
  ({ node: { name: 'n1', uid, labels: {} }, ...(fingerprint !== undefined && { fingerprint }) }) as Report;
const ownedBy = (name: string, uid: string) => ({ apiVersion: 'v1', kind: 'Node', name, uid });

test('a new object has the fields, the name and the Node as its owner', () => {
  expect(buildObject(kind, reportFor('u1', 'f'))).toEqual({
    apiVersion: 'v1',
    kind: 'NodeResourceTopology',
    fingerprint: 'f',
    metadata: { name: 'n1', ownerReferences: [ownedBy('n1', 'u1')] },
  });
  expect(buildObject(kind, reportFor('')).metadata).toEqual({ name: 'n1' });
});

describe('the patch of a stored object', () => {
  const stored = buildObject(kind, reportFor('u1', 'f'));

  test('is empty when nothing differs', () => {
    expect(patchFor(stored, kind, reportFor('u1', 'f'))).toEqual({});
  });

  test('has the fields that differ', () => {
    expect(patchFor(stored, kind, reportFor('u1', 'g'))).toEqual({ fingerprint: 'g' });
  });

  test('replaces a deleted Node of the same name as the owner, and keeps other owners', () => {
    const other = { apiVersion: 'v1', kind: 'ConfigMap', name: 'n1', uid: 'c' };
    const shared = { ...stored, metadata: { ownerReferences: [other, ownedBy('n1', 'u1')] } };
    expect(patchFor(shared, kind, reportFor('u2', 'f'))).toEqual({
      metadata: { ownerReferences: [other, ownedBy('n1', 'u2')] },
    });
  });

  test('removes annotations that the fields replace', () => {
    const annotated = {
      ...stored,
      metadata: { ...(stored['metadata'] as object), annotations: { old: '1', kept: '2' } },
    };
    expect(patchFor(annotated, kind, reportFor('u1', 'f'))).toEqual({ metadata: { annotations: { old: null } } });
  });
});
