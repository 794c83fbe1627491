import { isSameNode, toNodeEntry } from '../../../src/scheduling/annotator/node-entry';

const node = (addresses: unknown): object => ({ metadata: { name: 'n1', uid: 'u' }, status: { addresses } });

test.each`
  given                    | addresses                                                                                                           | want
  ${'two internal IPs'}    | ${[{ type: 'Hostname', address: 'h' }, { type: 'InternalIP', address: 'a' }, { type: 'InternalIP', address: 'b' }]} | ${'a'}
  ${'no internal IP'}      | ${[{ type: 'ExternalIP', address: 'e' }]}                                                                           | ${'n1'}
  ${'no addresses'}        | ${undefined}                                                                                                        | ${'n1'}
  ${'addresses of no use'} | ${[null, 3, { type: 'InternalIP' }]}                                                                                | ${'n1'}
`('given $given: the address is $want', ({ addresses, want }: { addresses: unknown; want: string }) => {
  expect(toNodeEntry(node(addresses))).toEqual({ name: 'n1', uid: 'u', address: want });
});

test.each([[null], [{}], [{ metadata: { name: '' } }]])('given %j: no node', (object) => {
  expect(toNodeEntry(object)).toBeUndefined();
});

test('a node of the same name is another one when its uid or its address is', () => {
  const entry = { name: 'n1', uid: 'u', address: 'a' };
  expect(isSameNode(entry, { ...entry })).toBe(true);
  expect(isSameNode(entry, { ...entry, uid: 'v' })).toBe(false);
  expect(isSameNode(entry, { ...entry, address: 'b' })).toBe(false);
});
