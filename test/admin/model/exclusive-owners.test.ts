import { keepSteady, listOwners } from '../../../src/admin/model/exclusive-owners';
import type { AssignmentStatus } from '../../../src/admin/model/status';
import { parseCpuList } from '../../../src/core/cpuset';

const assigned = (container: string, kind: string, cpus: string, more: object = {}): AssignmentStatus =>
  ({
    podUid: 'u1',
    namespace: 'shop',
    pod: 'db',
    container,
    containerId: `id-${container}`,
    kind,
    scope: 'container',
    cpus: parseCpuList(cpus),
    ...more,
  }) as unknown as AssignmentStatus;
const owners = (...assignments: readonly AssignmentStatus[]) =>
  listOwners({ topology: { online: parseCpuList('0-7') }, assignments });
const shown = (list: ReturnType<typeof owners>) =>
  list.map(({ pod, containers, cpus }) => `${pod} ${containers.join()} ${cpus.toString()}`);

test('owners are running containers with CPUs of their own, by their first CPU; offline CPUs are not theirs', () => {
  const list = owners(
    assigned('late', 'static', '6-9'),
    assigned('early', 'exclusive', '2-3'),
    assigned('gone', 'static', '4', { containerId: '' }),
    assigned('fixed', 'immovable', '5'),
    assigned('off', 'static', '8'),
  );
  expect(shown(list)).toEqual(['shop/db early 2-3', 'shop/db late 6-7']);
});

test('containers of a pod that have CPUs together are one owner', () => {
  const together = { scope: 'pod' };
  expect(
    shown(owners(assigned('a', 'exclusive', '2-3', together), assigned('b', 'exclusive', '2-3', together))),
  ).toEqual(['shop/db a,b 2-3']);
});

test('steady owners have the same containers and CPUs before and after', () => {
  const before = owners(assigned('a', 'static', '1'), assigned('b', 'static', '2'), assigned('c', 'static', '3'));
  const after = owners(
    assigned('a', 'static', '1'),
    assigned('b', 'static', '2', { containerId: 'restarted' }),
    assigned('c', 'static', '4'),
    assigned('d', 'static', '5'),
  );
  expect(shown(keepSteady(before, after))).toEqual(['shop/db a 1']);
});
