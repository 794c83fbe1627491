import fc from 'fast-check';
import { MIRROR, MIRROR_HASH } from '../../../src/core/model/pod-kinds';
import { CpuSet } from '../../../src/core/cpuset';
import { keyOf, type Assignment, type AssignmentKind } from '../../../src/core/model/assignment';
import { askedHugePages } from '../../../src/core/model/asked-huge-pages';
import type { Change } from '../../../src/core/model/change';
import type { Container } from '../../../src/core/model/container';
import { NodeModel } from '../../../src/core/model/node-model';
import type { NodeView } from '../../../src/core/model/node-view';
import { specOfPod } from '../../../src/core/model/pod-presence';
import { runtimeUidOf, type PodSpec } from '../../../src/core/model/pod-spec';
import { KINDS } from '../../../src/core/model/pool-view';
import { Draft } from '../../../src/core/transition';
import { cpus, EIGHT_CPUS, podOf, settingsWith, without } from '../transition/node-driver';

const PODS = ['p', 'q'] as const;
const NAMES = ['a', 'b', 'c'] as const;
const SPEC_UIDS = ['p', 'q', 'mirror'] as const;
const SPEC_NAMES = ['p', 'other'] as const;
const podUids = fc.constantFrom(...PODS);
const names = fc.constantFrom(...NAMES);
const lists = fc.constantFrom('1', '1-2', '5,7', '9');
const sandboxes = fc.constantFrom('s1', 's2', 's3');
const containerIds = fc.constantFrom('c1', 'c2', 'c3');

const assignments: fc.Arbitrary<Assignment> = fc
  .record({
    podUid: podUids,
    containerName: names,
    kind: fc.constantFrom<AssignmentKind>('static', 'exclusive', 'immovable', 'numa'),
    list: lists,
    containerId: fc.option(containerIds),
    planned: fc.boolean(),
  })
  .map(({ list, containerId, planned, ...rest }) => ({
    ...rest, podNamespace: 'ns', podName: rest.podUid, mems: CpuSet.empty, requested: 1, containerId,
    ...(rest.kind === 'numa' ? { cpus: CpuSet.empty, nodes: cpus(list) } : { cpus: cpus(list) }),
    ...(planned && containerId === null && { planned }),
    quotaLifted: false, rules: { policy: rest.kind, options: [], reserved: cpus('0') }, because: '', since: '',
  })); // prettier-ignore

const containers: fc.Arbitrary<Container> = fc
  .record({
    id: containerIds,
    podUid: podUids,
    mems: fc.constantFrom('', '0', '0-1'),
    more: fc.constantFrom({}, { waitingSince: 'then' }, { blockedSwitch: { because: '', since: 'then' } }, { pause: {} }),
    hugePages: fc.constantFrom(undefined, { told: 1 }),
  })
  .map(({ id, podUid, mems, more, hugePages }) => ({
    id, sandboxId: 's1', podUid, name: id, cgroupsPath: '', phase: 'running', entitledCpus: 0, placement: 'shared',
    resources: { memoryLimitBytes: 64, ...(hugePages && { hugePages }) }, promise: { cpus: cpus('0'), mems: cpus(mems) }, promisedAt: 'then',
    freshAssignment: false, because: '', ...more,
  })); // prettier-ignore

const specs: fc.Arbitrary<PodSpec> = fc
  .record({
    uid: fc.constantFrom(...SPEC_UIDS),
    name: fc.constantFrom(...SPEC_NAMES),
    mirrorOf: fc.option(podUids),
    hugePages: fc.constantFrom(undefined, { inSpec: 1 }),
  })
  .map(({ uid, name, mirrorOf, hugePages }) => ({
    uid, namespace: 'ns', name, annotations: mirrorOf === null ? {} : { [MIRROR]: 'x', [MIRROR_HASH]: mirrorOf },
    qos: 'Guaranteed' as const, finished: false,
    containers: [{ name: 'c1', kind: 'app' as const, ended: false, ...(hugePages && { limitHugePages: hugePages }) }],
  })); // prettier-ignore

const changes: fc.Arbitrary<Change> = fc.oneof(
  assignments.map((assignment): Change => ({ kind: 'put-assignment', assignment })),
  fc.tuple(podUids, names).map(([uid, name]): Change => ({ kind: 'drop-assignment', key: `${uid}/${name}` })),
  fc
    .tuple(podUids, sandboxes, fc.boolean())
    .map(([uid, sandboxId, stopped]): Change => ({ kind: 'put-pod', pod: { ...podOf(uid), sandboxId, stopped } })),
  sandboxes.map((sandboxId): Change => ({ kind: 'drop-pod', sandboxId })),
  containers.map((container): Change => ({ kind: 'put-container', container })),
  containerIds.map((id): Change => ({ kind: 'drop-container', id })),
  specs.map((spec): Change => ({ kind: 'put-spec', spec })),
  specs.map(({ uid }): Change => ({ kind: 'drop-spec', uid })),
  specs.map((spec): Change => ({ kind: 'keep-spec', spec })),
  specs.map(({ uid }): Change => ({ kind: 'unkeep-spec', uid })),
  fc
    .boolean()
    .map((hasReported): Change => ({ kind: 'set-spec-source', source: { hasReported, awaited: new Set(['p']) } })),
  podUids.map((uid): Change => ({ kind: 'put-unplanned', uid, since: 'then' })),
  podUids.map((uid): Change => ({ kind: 'drop-unplanned', uid })),
  fc.boolean().map((synchronized): Change => ({ kind: 'set-synchronized', synchronized })),
  fc
    .constantFrom(EIGHT_CPUS, without(EIGHT_CPUS, '5-7'))
    .map((topology): Change => ({ kind: 'set-topology', topology })),
  fc
    .constantFrom('0', '0-1')
    .map((reserved): Change => ({ kind: 'set-settings', settings: settingsWith({ reserved }) })),
);

/** A change, or several that are kept together or not at all. */
type Step = Change | { readonly kind: 'attempt'; readonly steps: readonly Step[]; readonly ok: boolean };

const steps = fc.letrec<{ steps: Step[]; step: Step }>((tie) => ({
  steps: fc.array(tie('step'), { maxLength: 6 }),
  step: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    changes,
    changes,
    fc.record({ kind: fc.constant('attempt' as const), steps: tie('steps'), ok: fc.boolean() }),
  ),
})).steps;

function take(draft: Draft, steps: readonly Step[]): void {
  for (const step of steps)
    if (step.kind !== 'attempt') draft.put(step);
    else
      draft.attempt(() => {
        take(draft, step.steps);
        return { ok: step.ok };
      });
}

function keptOf(steps: readonly Step[]): Change[] {
  return steps.flatMap((step) => (step.kind !== 'attempt' ? [step] : step.ok ? keptOf(step.steps) : []));
}

function sorted<T>(all: Iterable<T>): T[] {
  const keyed = [...all].map((each) => [JSON.stringify(each), each] as const);
  return keyed.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
}

/** The tables that are written. */
function valuesOf(model: NodeModel) {
  const { assignments, pods, allContainers, podSpecs, keptSpecs, unplanned, synchronized, topology, settings } = model;
  const { hasReported, awaited } = model.specSource;
  const maps = [assignments, pods, allContainers, podSpecs, keptSpecs, unplanned].map((map) => sorted<unknown>(map));
  return JSON.stringify([maps, hasReported, [...awaited], synchronized, topology.online, settings]);
}

/** The derived sets and indexes of the model. */
function derivedOf(model: NodeView) {
  const { holdings } = model;
  return {
    containers: sorted(model.containers.values()),
    byPod: PODS.map((uid) =>
      [model.assignmentsOf(uid), model.containersOf(uid), model.podsOf(uid)].map((all) => sorted<unknown>(all)),
    ),
    lines: [sorted(model.waiting), sorted(model.unswitched)],
    memory: [...model.promisedMemory()].sort(([a], [b]) => a - b),
    hugePages: sorted(model.promisedHugePages().keys()),
    specs: [model.podSpecs, model.keptSpecs].map((book) => [
      SPEC_NAMES.map((name) => sorted(book.named('ns', name))),
      PODS.map((uid) => sorted(book.ofRuntime(uid))),
    ]),
    holdings: [holdings.exclusive, holdings.nonExclusive].map(String),
    followers: holdings.followed.map(({ nodes, followers }) => `${nodes.toString()}: ${followers}`),
    planned: sorted(holdings.planned),
    ofPods: PODS.map((uid) => [model.holdingsOf(uid).cpus.toString(), model.holdingsOf(uid).count]),
    sets: [model.exclusive, model.nonExclusive, model.free].map(String),
  };
}

/** The same, computed from the written tables without any index. */
function derivedAnew(model: NodeModel): ReturnType<typeof derivedOf> {
  const all = [...model.assignments.values()];
  const { topology, settings } = model;
  const ofClaim = (claim: string): Assignment[] => all.filter(({ kind }) => KINDS[kind].claim === claim);
  const union = (some: readonly Assignment[]): CpuSet =>
    some.reduce((sum, { cpus: each }) => sum.union(each), CpuSet.empty);
  const [alone, besideShared] = [union(ofClaim('exclusive')), union(ofClaim('non-exclusive'))];
  const counts = new Map<string, number>();
  for (const { nodes } of ofClaim('numa-nodes'))
    counts.set(nodes!.toString(), (counts.get(nodes!.toString()) ?? 0) + 1);
  const found = [...model.allContainers.values()].filter(({ pause }) => pause === undefined);
  const memory = new Map<number, number>();
  for (const { promise } of found)
    promise?.mems.forEach((node) => memory.set(node, (memory.get(node) ?? 0) + 64 / promise.mems.size));
  const ofUid = (uid: string) => all.filter(({ podUid }) => podUid === uid);
  return {
    containers: sorted(found),
    byPod: PODS.map((uid) => [
      sorted(ofUid(uid)),
      sorted(found.filter(({ podUid }) => podUid === uid)),
      sorted([...model.pods.values()].filter((pod) => pod.uid === uid)),
    ]),
    lines: [
      sorted(found.filter(({ waitingSince }) => waitingSince).map(({ id }) => id)),
      sorted(found.filter(({ blockedSwitch }) => blockedSwitch).map(({ id }) => id)),
    ],
    memory: [...memory].sort(([a], [b]) => a - b),
    hugePages: sorted(
      new Set(found.flatMap((each) => Object.keys(askedHugePages(specOfPod(model, each.podUid), each) ?? {}))),
    ),
    specs: [[...model.podSpecs.values()], [...model.keptSpecs.values()]].map((some) => [
      SPEC_NAMES.map((name) => sorted(some.filter((spec) => spec.name === name))),
      PODS.map((uid) => sorted(some.filter((spec) => runtimeUidOf(spec) === uid))),
    ]),
    holdings: [alone, besideShared].map(String),
    followers: [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([nodes, count]) => `${nodes}: ${count}`),
    planned: sorted(all.filter(({ planned }) => planned)),
    ofPods: PODS.map((uid) => [union(ofUid(uid)).toString(), ofUid(uid).length]),
    sets: [
      alone.intersect(topology.online),
      besideShared.intersect(topology.online),
      topology.online.minus(alone).minus(settings.reserved).minus(besideShared),
    ].map(String),
  };
}

function modelWith(changes: readonly Change[]): NodeModel {
  const model = new NodeModel(EIGHT_CPUS, settingsWith());
  const draft = new Draft(model, 'now');
  for (const change of changes) draft.put(change);
  return model;
}

const options = { seed: 20_261_123, numRuns: 500 };

test('after any changes, values are those written last, and every index fits them', () => {
  fc.assert(
    fc.property(fc.array(changes, { maxLength: 20 }), (all) => {
      const model = modelWith(all);
      const last = { topology: EIGHT_CPUS, settings: settingsWith(), synchronized: false };
      for (const change of all)
        if (/set-(topology|settings|synchronized)/.test(change.kind)) Object.assign(last, change);
      const { topology, settings, synchronized } = model;
      expect({ ...last, topology, settings, synchronized }).toEqual(last);
      expect(derivedOf(model)).toEqual(derivedAnew(model));
    }),
    options,
  );
});

test('nested attempts keep the changes of those that succeeded, and a rollback keeps none', () => {
  fc.assert(
    fc.property(fc.array(changes, { maxLength: 12 }), steps, (before, during) => {
      const model = modelWith(before);
      const then = valuesOf(model);
      const draft = new Draft(model, 'now');
      take(draft, during);
      const kept = keptOf(during);
      expect(valuesOf(model)).toBe(valuesOf(modelWith([...before, ...kept])));
      expect(derivedOf(model)).toEqual(derivedAnew(model));
      expect(draft.isDurable).toBe(kept.some(({ kind }) => /-assignment$|keep-spec$/.test(kind)));
      draft.rollback();
      expect(valuesOf(model)).toBe(then);
      expect(derivedOf(model)).toEqual(derivedAnew(model));
      expect({ durable: draft.isDurable, affected: draft.affected() }).toEqual({ durable: false, affected: [] });
    }),
    options,
  );
});

test('a draft names the pods and containers whose values it wrote, the old ones and the new ones', () => {
  fc.assert(
    fc.property(fc.array(changes, { maxLength: 8 }), changes, (before, change) => {
      const model = modelWith(before);
      const views = (): { pods: string[]; ids: string[] } => {
        const found = [
          ...('key' in change ? [model.assignments.get(change.key)] : []),
          ...('assignment' in change ? [model.assignments.get(keyOf(change.assignment))] : []),
          ...('id' in change ? [model.allContainers.get(change.id)] : []),
          ...('container' in change ? [model.allContainers.get(change.container.id)] : []),
        ].filter((each) => each !== undefined);
        return {
          pods: found.map(({ podUid }) => podUid),
          ids: found.flatMap((each) =>
            'containerId' in each ? (each.containerId ?? []) : 'id' in each ? each.id : [],
          ),
        };
      };
      fc.pre(/-(assignment|container)$/.test(change.kind));
      const [old, draft] = [views(), new Draft(model, 'now')];
      draft.put(change);
      const now = views();
      expect(sorted(draft.podUids)).toEqual(sorted(new Set([...old.pods, ...now.pods])));
      expect(sorted(draft.outdated ?? [])).toEqual(sorted(new Set([...old.ids, ...now.ids])));
    }),
    options,
  );
});
