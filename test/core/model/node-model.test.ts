import fc from 'fast-check';
import { keyOf, type Assignment } from '../../../src/core/model/assignment';
import { NodeModel } from '../../../src/core/model/node-model';
import type { Change } from '../../../src/core/model/change';
import { Draft } from '../../../src/core/transition';
import { leastCpuMs } from '../../support/cpu-time';
import {
  cpus,
  EIGHT_CPUS,
  machineOf,
  NodeDriver,
  podOf,
  settingsWith,
  without,
  type Rules,
} from '../transition/node-driver';

function assignmentOf(containerName: string, list: string): Assignment {
  const { reserved } = settingsWith();
  return {
    podUid: 'p', podNamespace: 'ns', podName: 'p', containerName, kind: 'static', cpus: cpus(list), mems: cpus(''),
    requested: cpus(list).size, containerId: 'c', quotaLifted: false, rules: { policy: 'static', options: [], reserved },
    because: 'for a test', since: '2026-01-01T00:00:00Z',
  }; // prettier-ignore
}

test.each`
  name                                                              | rules                                          | owned    | exclusive | pool           | free
  ${'no CPU is owned'}                                              | ${{}}                                          | ${''}    | ${''}     | ${'0-7'}       | ${'1-7'}
  ${'owned CPUs are in neither'}                                    | ${{}}                                          | ${'1,5'} | ${'1,5'}  | ${'0,2-4,6-7'} | ${'2-4,6-7'}
  ${'strict: reserved CPUs are not in the pool'}                    | ${{ options: { strictCpuReservation: true } }} | ${'1,5'} | ${'1,5'}  | ${'2-4,6-7'}   | ${'2-4,6-7'}
  ${'CPUs that are offline are in none'}                            | ${{}}                                          | ${'7-9'} | ${'7'}    | ${'0-6'}       | ${'1-6'}
  ${'owned CPUs that are reserved now are owned'}                   | ${{ reserved: '0-1' }}                         | ${'1,5'} | ${'1,5'}  | ${'0,2-4,6-7'} | ${'2-4,6-7'}
  ${'strict, and all others are owned: the pool has reserved CPUs'} | ${{ options: { strictCpuReservation: true } }} | ${'1-7'} | ${'1-7'}  | ${'0'}         | ${''}
  ${'all CPUs are owned: the pool has owned CPUs'}                  | ${{}}                                          | ${'0-7'} | ${'0-7'}  | ${'0-7'}       | ${''}
`(
  '$name',
  ({ rules, owned, ...want }: { rules: Rules; owned: string } & Record<'exclusive' | 'pool' | 'free', string>) => {
    const model = new NodeModel(EIGHT_CPUS, settingsWith(rules));
    if (owned !== '') model.apply({ kind: 'put-assignment', assignment: assignmentOf('a', owned) });
    expect({
      exclusive: model.exclusive.toString(),
      pool: model.sharedPool.toString(),
      free: model.free.toString(),
    }).toEqual({ exclusive: want.exclusive, pool: want.pool, free: want.free });
  },
);

function describe(model: NodeModel) {
  const sorted = <T>(map: ReadonlyMap<string, T>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify({
    online: model.topology.online,
    settings: model.settings,
    assignments: sorted(model.assignments),
    pods: sorted(model.pods),
    containers: sorted(model.containers),
    sets: [model.exclusive, model.sharedPool, model.free],
  });
}

test('drafts of one batch are rolled back in reverse', () => {
  const node = new NodeDriver().run('make p/a 2');
  const then = describe(node.model);
  const first = new Draft(node.model, '1');
  first.put({ kind: 'put-assignment', assignment: assignmentOf('b', '2') });
  const second = new Draft(node.model, '2');
  second.put({ kind: 'put-assignment', assignment: assignmentOf('b', '3') });
  second.put({ kind: 'set-topology', topology: machineOf(2, 1) });
  for (const draft of [second, first]) draft.rollback();
  expect(describe(node.model)).toBe(then);
});

test.each`
  change                                                            | affects
  ${{ kind: 'put-assignment', assignment: assignmentOf('b', '2') }} | ${['p/a#1', 'q/s#1']}
  ${{ kind: 'drop-assignment', key: 'p/a' }}                        | ${['p/a#1', 'q/s#1']}
  ${{ kind: 'set-topology', topology: without(EIGHT_CPUS, '7') }}   | ${['p/a#1', 'q/s#1']}
  ${{ kind: 'set-settings', settings: settingsWith() }}             | ${['p/a#1', 'q/s#1']}
  ${{ kind: 'drop-container', id: 'p/a#1' }}                        | ${[]}
  ${{ kind: 'put-pod', pod: { ...podOf('p'), stopped: false } }}    | ${[]}
`('$change.kind affects the promises of $affects', ({ change, affects }: { change: Change; affects: string[] }) => {
  const node = new NodeDriver().run('make p/a 2; make q/s 0');
  const draft = new Draft(node.model, 'now');
  draft.put(change);
  expect(draft.affected().map(({ id }) => id)).toEqual(affects);
});

const ownedBy = (podUid: string, name: string): Assignment => ({ ...assignmentOf(name, '1'), podUid });

test('the assignments of a pod are those of its uid, in the order of their creation, after any changes and rollbacks', () => {
  const change = fc.record({ pod: fc.nat(2), name: fc.nat(3), drops: fc.boolean() });
  fc.assert(
    fc.property(fc.array(change), (changes) => {
      const model = new NodeModel(EIGHT_CPUS, settingsWith());
      const check = (): void => {
        for (const podUid of ['p0', 'p1', 'p2'])
          expect(model.assignmentsOf(podUid)).toEqual(
            [...model.assignments.values()].filter((assignment) => assignment.podUid === podUid),
          );
      };
      const writes = changes.map(({ pod, name, drops }) => {
        const assignment = ownedBy(`p${pod}`, `c${name}`);
        const write = model.apply(
          drops ? { kind: 'drop-assignment', key: keyOf(assignment) } : { kind: 'put-assignment', assignment },
        );
        check();
        return write;
      });
      for (const write of writes.reverse()) model.undo(write);
      check();
      expect(model.assignments.size).toBe(0);
    }),
  );
});

test('the assignments of a pod are found without reading those of others', () => {
  const costWith = (pods: number): number => {
    const model = new NodeModel(EIGHT_CPUS, settingsWith());
    for (let i = 0; i < pods; i++) model.apply({ kind: 'put-assignment', assignment: ownedBy(`p${i}`, 'c') });
    return leastCpuMs(() => {
      for (let i = 0; i < 500; i++) model.assignmentsOf('p1');
    });
  };
  expect(costWith(10_000)).toBeLessThan(10 * costWith(10) + 5);
});
