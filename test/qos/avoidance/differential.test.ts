import type { AvoidancePlan } from '../../../src/qos/avoidance/plan';
import { planAvoidance } from '../../../src/qos/avoidance/plan-avoidance';
import type { AvoidanceSituation } from '../../../src/qos/avoidance/situation';
import { createRandom, type Random } from '../../support/random';
import { modelPlan, type ModelPlan } from './model';
import { randomSituation } from './random-situation';

const SEEDS = 2500;

function outline(plan: AvoidancePlan): ModelPlan {
  const { evictions, throttles, restores, skipped, throttled, yielded } = plan;
  return {
    yielded: yielded.map(({ id }) => id),
    evictions: evictions.map(({ pod, graceSeconds }) => `${pod.namespace}/${pod.name} ${graceSeconds ?? 'none'}`),
    throttles: throttles.map(({ id, toUs }) => `${id} ${toUs}`),
    restores: restores.map(({ id, toUs }) => `${id} ${toUs}`).sort(),
    leftOut: [
      ...new Set(skipped.filter(({ because }) => because.includes('budget')).map(({ subject }) => subject)),
    ].sort(),
    throttled: throttled
      .map(
        ({ id, originalUs, quotaUs, causes }) =>
          `${id} ${originalUs} ${quotaUs} ${causes.map(({ rule }) => rule).join()}`,
      )
      .sort(),
  };
}

function eachSeed(check: (situation: AvoidanceSituation, random: Random) => void): void {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = createRandom(seed);
    try {
      check(randomSituation(random), random);
    } catch (error) {
      throw new Error(`seed ${seed}`, { cause: error });
    }
  }
}

test('a plan is what the model plans', () => {
  const counts = { evictions: 0, throttles: 0, restores: 0, leftOut: 0, yielded: 0 };
  eachSeed((situation) => {
    const plan = outline(planAvoidance(situation));
    expect(plan).toEqual(modelPlan(situation));
    for (const key of Object.keys(counts) as (keyof typeof counts)[]) counts[key] += plan[key].length;
  });
  // The situations are such that each kind of step is frequent.
  expect(Object.entries(counts).filter(([, count]) => count <= SEEDS / 8)).toEqual([]);
});

test('a plan is the same for any order of its input', () => {
  eachSeed((situation, random) => {
    const shuffle = <T>(items: readonly T[]): readonly T[] => {
      const rest = [...items];
      return items.map(() => rest.splice(random.int(0, rest.length - 1), 1)[0]!);
    };
    const shuffled = {
      ...situation,
      triggered: shuffle(situation.triggered),
      restored: shuffle(situation.restored),
      actingRules: shuffle(situation.actingRules),
      pods: shuffle(situation.pods),
      podQoses: shuffle(situation.podQoses),
      containers: shuffle(situation.containers),
      throttles: shuffle(situation.throttles),
      yielded: shuffle(situation.yielded),
    };
    expect(JSON.stringify(planAvoidance(shuffled))).toBe(JSON.stringify(planAvoidance(situation)));
  });
});

test('no step goes against a promise, a budget or a spared pod', () => {
  eachSeed((situation) => {
    const { throttles, restores, evictions } = planAvoidance(situation);
    const { pods, containers, options } = situation;
    const containerOf = (id: string) => containers.find((container) => container.id === id)!;
    const podOf = (uid: string) => pods.find((pod) => pod.uid === uid)!;
    const faults: string[] = [];
    const check = (isRight: boolean, fault: string): void => {
      if (!isRight) faults.push(fault);
    };

    check(evictions.length <= options.evictionsLeft, 'evictions beyond their budget');
    check(evictions.length + throttles.length <= options.actionsLeft, 'actions beyond the budget');
    const written = [...throttles, ...restores].map(({ id }) => id);
    check(new Set(written).size === written.length, 'two steps for a container');
    for (const { id, toUs, fromUs, periodUs, because } of [...throttles, ...restores]) {
      check(!containerOf(id).isPinned, `${id} is pinned`);
      check(Number.isInteger(toUs) && (toUs === -1 || toUs >= 1000), `${id} gets ${toUs}`);
      check(fromUs === (containerOf(id).quotaUs! > 0 ? containerOf(id).quotaUs : -1), `${id} does not have ${fromUs}`);
      check(periodUs === containerOf(id).periodUs, `${id} does not have the period ${periodUs}`);
      check(because.length > 0, `${id} has no reason`);
    }
    for (const { id, pod, toUs, fromUs, periodUs } of throttles) {
      const { isCritical, isStatic, isBeingDeleted, phase, qos, containers: specs } = podOf(pod.uid);
      const spec = specs.find(({ name }) => name === containerOf(id).name)!;
      const min = Math.min(...situation.triggered.map(({ action }) => action.throttle?.minCpuRatio ?? 100));
      const mayRun = phase === 'Running' || phase === 'Pending';
      check(!isCritical && !isStatic && !isBeingDeleted && mayRun && qos !== 'Guaranteed', `${id} is spared`);
      check(fromUs === -1 || toUs < fromUs, `${id} is not lowered`);
      check(toUs >= ((spec.requestMilliCpu ?? 0) * periodUs) / 1000, `${id} is below its request`);
      check(toUs >= ((spec.limitMilliCpu ?? 0) * min * periodUs) / 100_000, `${id} is below its minimum`);
      check(!evictions.some((step) => step.pod.uid === pod.uid), `${id} is of an evicted pod`);
    }
    for (const { id, toUs, fromUs } of restores) {
      const { originalUs, limitMilliCpu } = situation.throttles.find((throttle) => throttle.id === id)!;
      const spec = podOf(containerOf(id).podUid).containers.find(({ name }) => name === containerOf(id).name)!;
      const isSame = spec.limitMilliCpu === limitMilliCpu;
      check(toUs === -1 || toUs > fromUs || !isSame, `${id} is not raised`);
      check(originalUs === -1 || (toUs !== -1 && toUs <= originalUs), `${id} is above its original`);
    }
    for (const { pod } of evictions) {
      const { isCritical, isStatic, isBeingDeleted, phase } = podOf(pod.uid);
      const isRunning = phase === 'Running' || phase === 'Pending';
      check(!isCritical && !isStatic && !isBeingDeleted && isRunning, `${pod.name} is spared`);
      check(!containers.some(({ podUid, isPinned }) => podUid === pod.uid && isPinned), `${pod.name} is pinned`);
    }
    expect(faults).toEqual([]);
  });
});

test('rules in preview show the steps that they would take', () => {
  let count = 0;
  eachSeed((situation) => {
    const as = (isPreview: boolean) => situation.triggered.map((order) => ({ ...order, isPreview }));
    const acting = planAvoidance({ ...situation, restored: [], triggered: as(false) });
    const { previewed, evictions, throttles } = planAvoidance({ ...situation, restored: [], triggered: as(true) });
    expect([...evictions, ...throttles, ...previewed.restores]).toEqual([]);
    expect(previewed.evictions).toEqual(acting.evictions);
    expect(previewed.throttles).toEqual(acting.throttles);
    count += previewed.evictions.length + previewed.throttles.length;
  });
  expect(count).toBeGreaterThan(SEEDS / 8);
});
