import * as pb from '../../../gen/cpusetd/v1/cpusetd';
import { encodeStatus } from '../../../src/admin/codec/status';
import { EncodedStatus } from '../../../src/admin/server/encoded-status';
import { container, SampleBackend, sampleStatus, sampleTopology } from '../sample-status';

let backend: SampleBackend;
let encoded: EncodedStatus;
beforeEach(() => {
  backend = new SampleBackend();
  encoded = new EncodedStatus(backend);
});

test('the bytes are those of the whole answers', () => {
  expect(pb.GetStatusResponse.decode(encoded.status()).status).toEqual(encodeStatus(sampleStatus));
  expect(pb.ListAssignmentsResponse.decode(encoded.assignments()).assignments).toHaveLength(3);
  const { machine, node, assignments } = pb.GetTopologyResponse.decode(encoded.topology());
  expect([machine?.cpus.length, node?.sharedPool, assignments.length]).toEqual([
    ...[sampleTopology.topology.cpus.length, '0-1,6-7', 3],
  ]);
});

test('without a change the answers are the same objects', () => {
  expect(encoded.status()).toBe(encoded.status());
  expect(encoded.assignments()).toBe(encoded.assignments());
  expect(encoded.topology()).toBe(encoded.topology());
});

test('a new container is in the next answer', () => {
  const before = encoded.status();
  const added = container({ id: 'n', pod: 'new', container: 'c', placement: 'shared', requested: 0 });
  backend.current = { ...sampleStatus, containers: [...sampleStatus.containers, added] };
  const after = encoded.status();
  expect(after).not.toEqual(before);
  expect(pb.GetStatusResponse.decode(after).status?.containers.at(-1)?.id).toBe('n');
});

test('all watchers of a change share its bytes', () => {
  const change = { kind: 'container-removed', id: 'a' } as const;
  expect(encoded.changeOf(change)).toBe(encoded.changeOf(change));
  expect(pb.WatchStatusResponse.decode(encoded.changeOf(change)).containerRemoved).toBe('a');
});
