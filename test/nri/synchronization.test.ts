import { SynchronizeRequest } from '../../gen/nri/v1alpha1/nri';
import { CpusetdError } from '../../src/core/errors';
import { Synchronization } from '../../src/nri/synchronization';

const piece = (more: boolean, ...ids: readonly string[]) =>
  SynchronizeRequest.encode(SynchronizeRequest.create({ containers: ids.map((id) => ({ id })), more })).finish();

test('is late by the deadline of its first piece, which all pieces share', () => {
  const synchronization = new Synchronization();
  expect(synchronization.add(piece(true, 'a'), 1000, 2000)).toBeUndefined();
  expect(synchronization.add(piece(false, 'b'), 2500, 600)).toMatchObject({ containers: [{ id: 'a' }, { id: 'b' }] });
  expect(synchronization.isLate(2999)).toBe(false);
  expect(synchronization.isLate(3000)).toBe(true);
});

test('may have nothing in it at all', () => {
  expect(new Synchronization().add(new Uint8Array(0), 0, 2000)).toEqual({
    kind: 'synchronize',
    pods: [],
    containers: [],
  });
});

test('that never ends is refused before memory does', () => {
  const synchronization = new Synchronization();
  const large = piece(true, ...Array.from({ length: 60_000 }, (_, index) => `c${index}`));
  expect(synchronization.add(large, 0, 2000)).toBeUndefined();
  expect(() => synchronization.add(large, 0, 2000)).toThrow(CpusetdError);
});
