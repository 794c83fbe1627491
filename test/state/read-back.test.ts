import fc from 'fast-check';
import { CpuSet } from '../../src/core/cpuset';
import type { Assignment } from '../../src/core/model/assignment';
import type { ContainerSpec, PodSpec, SpecResources } from '../../src/core/model/pod-spec';
import { MAX_PODS_BYTES, MAX_STATE_BYTES, openStateStore, type StateStore } from '../../src/state';
import { specOf } from '../support/spec-of';
import { assignmentOf } from './support/assignments';
import { useTempDirs } from './support/temp-dir';

const makeDir = useTempDirs();
const version = '0.1.0';

function open(dir: string): StateStore {
  const opened = openStateStore({ dir, version });
  if (!opened.ok) throw new Error(opened.because);
  return opened.store;
}

/**
 * Texts that a tenant may write: empty, property names, halves of surrogate pairs, and up to the limit of the API
 * server.
 */
const anyText = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  fc.constantFrom('__proto__', 'constructor', '\ud800', '\u2028', '"],"checksum":"', '1', ''),
  fc.integer({ min: 1, max: 18 }).map((power) => '\u0000'.repeat(2 ** power)),
  fc.integer({ min: 1, max: 18 }).map((power) => 'é'.repeat(2 ** power)),
);
const anyAmounts: fc.Arbitrary<SpecResources> = fc.record(
  {
    requestMilliCpu: fc.maxSafeNat(),
    limitMilliCpu: fc.maxSafeNat(),
    requestMemoryBytes: fc.maxSafeNat(),
    limitMemoryBytes: fc.maxSafeNat(),
  },
  { requiredKeys: [] },
);
const anyContainer: fc.Arbitrary<ContainerSpec> = fc
  .record({
    name: anyText,
    kind: fc.constantFrom('init' as const, 'sidecar' as const, 'app' as const),
    ended: fc.boolean(),
  })
  .chain((container) => anyAmounts.map((amounts) => ({ ...container, ...amounts })));
const anyPod: fc.Arbitrary<PodSpec> = fc
  .record({
    uid: anyText,
    namespace: anyText,
    name: anyText,
    qos: fc.constantFrom('Guaranteed' as const, 'Burstable' as const, 'BestEffort' as const),
    finished: fc.boolean(),
    containers: fc.array(anyContainer, { maxLength: 6 }),
    annotations: fc.array(fc.tuple(anyText, anyText), { maxLength: 6 }).map((all) => Object.fromEntries(all)),
    podResources: fc.option(anyAmounts, { nil: undefined }),
    isBeingDeleted: fc.option(fc.constant(true as const), { nil: undefined }),
  })
  .map(({ podResources, isBeingDeleted, ...pod }) => ({
    ...pod,
    ...(podResources && { podResources }),
    ...(isBeingDeleted && { isBeingDeleted }),
  }));

/** Assignments with unique containers and disjoint CPUs, as in the model. */
const anyAssignments: fc.Arbitrary<readonly Assignment[]> = fc
  .uniqueArray(
    fc.record({ podUid: anyText, containerName: anyText, podName: anyText, because: anyText, chosenBy: anyText }),
    {
      maxLength: 8,
      selector: ({ podUid, containerName }) => `${podUid}/${containerName}`,
    },
  )
  .map((all) =>
    all.map(({ containerName, chosenBy, ...texts }, i) =>
      assignmentOf(containerName, '0', {
        ...texts,
        cpus: CpuSet.of([i * 3, i * 3 + 1]),
        containerId: i % 2 === 0 ? null : texts.because,
        rules: { policy: 'exclusive', chosenBy, options: [], reserved: CpuSet.of([]) },
      }),
    ),
  );

test('everything that a save accepts is read at the next start, except the pods that it reports as left out', () => {
  const dir = makeDir();
  let generation = 0;
  let refused = 0;
  fc.assert(
    fc.property(anyAssignments, fc.array(anyPod, { maxLength: 8 }), (assignments, pods) => {
      const outcome = open(dir).save({ generation: ++generation, assignments, pods });
      if (!outcome.ok) {
        refused++;
        return;
      }
      const { loaded } = open(dir);
      if (loaded.kind !== 'loaded') throw new Error(`${loaded.kind}: what was saved is not read`);
      expect(loaded.state).toEqual({
        writtenBy: version,
        generation,
        assignments,
        pods: pods.filter((pod) => !outcome.leftOut.includes(pod)),
        brought: [],
        podLevel: [],
      });
    }),
    { numRuns: 150 },
  );
  expect(refused).toBe(0); // such small states are never too large, so each run tests the property
});

describe('a state above the size limit', () => {
  const pods = Array.from({ length: 110 }, (_, i) =>
    specOf(`p${i}`, 'app 1', { annotations: { 'kubernetes.io/config.hash': 'x'.repeat(i * 2048) } }),
  );

  test('leaves out the longest pods first, and keeps all assignments', () => {
    const dir = makeDir();
    const assignments = [assignmentOf('a', '2-3')];
    const outcome = open(dir).save({ generation: 1, assignments, pods });
    const leftOut = outcome.ok ? outcome.leftOut.map(({ uid }) => uid) : [];
    const { loaded } = open(dir);
    if (loaded.kind !== 'loaded') throw new Error(loaded.kind);
    expect(loaded.state.assignments).toEqual(assignments);
    const kept = loaded.state.pods.map(({ uid }) => uid);
    expect([...kept, ...leftOut]).toEqual(pods.map(({ uid }) => uid)); // the pods are in the order of their size
    expect(JSON.stringify(loaded.state.pods).length).toBeLessThanOrEqual(MAX_PODS_BYTES);
    expect(kept.length).toBeGreaterThan(20);
    expect(leftOut.length).toBeGreaterThan(20);
  });

  test('is refused with the rule when the assignments are too large, and the previous state stays', () => {
    const dir = makeDir();
    const store = open(dir);
    const small = [assignmentOf('a', '2-3')];
    store.save({ generation: 1, assignments: small });
    const huge = [assignmentOf('a', '2-3', { because: 'x'.repeat(MAX_STATE_BYTES) })];
    expect(store.save({ generation: 2, assignments: huge })).toEqual({
      ok: false,
      code: 'EFBIG',
      onDisk: 'old',
      because: expect.stringContaining(`at most ${MAX_STATE_BYTES} are read`),
    });
    expect(open(dir).loaded).toMatchObject({ kind: 'loaded', state: { generation: 1, assignments: small } });
  });
});
