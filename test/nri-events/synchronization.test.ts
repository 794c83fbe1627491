import { SynchronizeRequest } from '../../gen/nri/v1alpha1/nri';
import { CpusetdError } from '../../src/core/errors';
import { Synchronization } from '../../src/nri-events/synchronization';

const piece = (more: boolean, ...ids: readonly string[]) =>
  SynchronizeRequest.encode(SynchronizeRequest.create({ containers: ids.map((id) => ({ id })), more })).finish();

test('a synchronization has the containers of all its pieces', () => {
  const synchronization = new Synchronization();
  expect(synchronization.add(piece(true, 'a'))).toBe(true);
  expect(synchronization.add(piece(false, 'b'))).toBe(false);
  expect(synchronization.event).toMatchObject({ containers: [{ id: 'a' }, { id: 'b' }] });
});

test('an empty synchronization is an event without pods and containers', () => {
  const synchronization = new Synchronization();
  expect(synchronization.add(new Uint8Array(0))).toBe(false);
  expect(synchronization.event).toEqual({ kind: 'synchronize', pods: [], containers: [] });
});

test('a synchronization beyond the limit of items is refused', () => {
  const synchronization = new Synchronization();
  const large = piece(true, ...Array.from({ length: 60_000 }, (_, index) => `c${index}`));
  expect(synchronization.add(large)).toBe(true);
  expect(() => synchronization.add(large)).toThrow(CpusetdError);
});
