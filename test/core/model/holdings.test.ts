import fc from 'fast-check';
import { CpuSet } from '../../../src/core/cpuset';
import { keyOf, type Assignment, type AssignmentKind } from '../../../src/core/model/assignment';
import type { Container } from '../../../src/core/model/container';
import { NodeModel } from '../../../src/core/model/node-model';
import type { Change } from '../../../src/core/model/change';
import { cpus, EIGHT_CPUS, settingsWith } from '../transition/node-driver';

const lists = fc.constantFrom('', '1', '1-2', '2-3', '5,7', '9');

const assignments: fc.Arbitrary<Assignment> = fc
  .record({
    podUid: fc.constantFrom('p', 'q'),
    containerName: fc.constantFrom('a', 'b', 'c'),
    kind: fc.constantFrom<AssignmentKind>('static', 'exclusive', 'immovable', 'numa'),
    list: lists,
    of: fc.constantFrom('pod', 'container'),
    state: fc.constantFrom('has it', 'had it', 'will have it'),
    requested: fc.integer({ min: 1, max: 3 }),
  })
  .map(({ podUid, containerName, kind, list, of: scope, state, requested }) => ({
    podUid, podNamespace: 'ns', podName: podUid, containerName, kind, requested,
    ...(kind === 'numa' ? { cpus: CpuSet.empty, nodes: cpus(list === '' ? '0' : list) } : { cpus: cpus(list) }),
    ...(scope === 'pod' && kind !== 'numa' && { scope: 'pod' as const }),
    mems: CpuSet.empty, containerId: state === 'has it' ? 'id' : null,
    ...(state === 'will have it' && { planned: true as const }),
    quotaLifted: false, rules: { policy: kind, options: [], reserved: cpus('0') }, because: '', since: '',
  })); // prettier-ignore

const containers: fc.Arbitrary<Container> = fc
  .record({ id: fc.constantFrom('c1', 'c2', 'c3'), list: lists, bytes: fc.constantFrom(0, 3, 64), waits: fc.boolean() })
  .map(({ id, list, bytes, waits }) => ({
    id, sandboxId: 's', podUid: 'p', name: id, cgroupsPath: '', phase: 'running', entitledCpus: 0, placement: 'shared',
    resources: { memoryLimitBytes: bytes }, promise: { cpus: cpus('0'), mems: cpus(list) },
    ...(waits ? { waitingSince: 'then' } : { blockedSwitch: { because: '', since: 'then' } }), freshAssignment: false, because: '',
  })); // prettier-ignore

const changes: fc.Arbitrary<Change> = fc.oneof(
  assignments.map((assignment): Change => ({ kind: 'put-assignment', assignment })),
  assignments.map((assignment): Change => ({ kind: 'drop-assignment', key: keyOf(assignment) })),
  containers.map((container): Change => ({ kind: 'put-container', container })),
  containers.map(({ id }): Change => ({ kind: 'drop-container', id })),
);

/** All sums of a model, and the sums of a pod without each of its own entries. */
function sumsOf(model: NodeModel) {
  const { holdings } = model;
  const planned = [...holdings.planned].map(keyOf).sort();
  const idle = [...holdings.idle].map(keyOf).sort();
  const rest = ['p', 'q'].flatMap((uid) => {
    const ofPod = model.holdingsOf(uid);
    const kinds = (['static', 'exclusive', 'immovable', 'numa'] as const).map((kind) => ofPod.podSet(kind));
    const owns = [undefined, ...model.assignmentsOf(uid).sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))];
    return [ofPod.count, ofPod.planned, ofPod.cpus, kinds, owns.map((own) => ofPod.without(own))];
  });
  const counts = Array.from({ length: 10 }, (_, cpu) => holdings.countNonExclusive(cpu));
  const memory = [...model.promisedMemory()].sort(([a], [b]) => a - b);
  const { free, exclusive, nonExclusive, sharedPool } = model;
  const lines = [[...model.waiting].sort(), [...model.unswitched].sort()];
  return JSON.stringify([
    holdings.exclusive,
    holdings.nonExclusive,
    holdings.followed,
    planned,
    idle,
    counts,
    rest,
    memory,
    lines,
    free,
    exclusive,
    nonExclusive,
    sharedPool,
  ]);
}

function startModel(): NodeModel {
  return new NodeModel(EIGHT_CPUS, settingsWith());
}

/** The same assignments and containers, each put once. */
function madeAnew(model: NodeModel): NodeModel {
  const fresh = startModel();
  for (const assignment of model.assignments.values()) fresh.apply({ kind: 'put-assignment', assignment });
  for (const container of model.containers.values()) fresh.apply({ kind: 'put-container', container });
  return fresh;
}

test('after any changes and rollbacks, all sums fit the remaining assignments and containers', () => {
  fc.assert(
    fc.property(fc.array(changes, { maxLength: 15 }), fc.array(changes, { maxLength: 8 }), (kept, takenBack) => {
      const model = startModel();
      for (const change of kept) model.apply(change);
      const writes = takenBack.map((change) => model.apply(change));
      expect(sumsOf(model)).toBe(sumsOf(madeAnew(model)));
      for (const write of writes.reverse()) model.undo(write);
      expect(sumsOf(model)).toBe(sumsOf(madeAnew(model)));
    }),
    { seed: 20_261_122, numRuns: 400 },
  );
});

test('the sum of a pod without one container is the sum of the others', () => {
  fc.assert(
    fc.property(fc.array(assignments, { minLength: 1, maxLength: 8 }), (all) => {
      const model = startModel();
      for (const assignment of all) model.apply({ kind: 'put-assignment', assignment });
      for (const own of model.assignments.values()) {
        const without = model.holdingsOf(own.podUid).without(own);
        const others = startModel();
        for (const other of model.assignmentsOf(own.podUid))
          if (other !== own) others.apply({ kind: 'put-assignment', assignment: other });
        expect(JSON.stringify(without)).toBe(JSON.stringify(others.holdingsOf(own.podUid).without(undefined)));
      }
    }),
    { seed: 20_261_122, numRuns: 200 },
  );
});
