import { planAvoidance } from '../../../src/qos/avoidance/plan-avoidance';
import type { AvoidancePlan } from '../../../src/qos/avoidance/plan';
import { planUndoAll } from '../../../src/qos/avoidance/plan-restores';
import type { AvoidanceSituation, Throttle } from '../../../src/qos/avoidance/situation';
import type { AvoidanceAction } from '../../../src/qos/objects/objects';
import {
  EVERY_ACTION,
  EVICT,
  makeAction,
  makeContainer,
  makeOrder,
  makePod,
  makeSituation,
  metrics,
  NOW,
  THROTTLE,
} from './builders';

const BOTH = makeAction({ name: 'both', throttle: { minCpuRatio: 50, stepCpuRatio: 10 }, eviction: {} });

const throttlesOf = ({ throttles }: Pick<AvoidancePlan, 'throttles'>) =>
  throttles.map(({ id, toUs }) => `${id} ${toUs}`);
const restoresOf = ({ restores }: Pick<AvoidancePlan, 'restores'>) => restores.map(({ id, toUs }) => `${id} ${toUs}`);
const evictionsOf = ({ evictions }: Pick<AvoidancePlan, 'evictions'>) => evictions.map(({ pod }) => pod.name);
const skippedOf = ({ skipped }: Pick<AvoidancePlan, 'skipped'>) =>
  skipped.map(({ subject, because }) => `${subject}: ${because}`);

/** Pods a, b, c of one container each, with these uses. They are acted on in this order, as they use less and less. */
function threePods(uses: readonly (number | undefined)[] = [2000, 1990, 1980]) {
  const names = ['a', 'b', 'c'];
  return {
    pods: names.map((name) => makePod(name, {}, { limitMilliCpu: 2000 })),
    containers: names.map((name, index) => {
      const { milliCpu: _, ...container } = makeContainer(name);
      const milliCpu = uses[index];
      return { ...container, ...(milliCpu !== undefined && { milliCpu }) };
    }),
  };
}

/** A throttle of the container of pod `a`: the kernel has 150,000 of 200,000. */
function throttleOf(over: Partial<Throttle> = {}): Throttle {
  return {
    id: 'id-a',
    podUid: 'uid-a',
    namespace: 'shop',
    pod: 'a',
    container: 'main',
    periodUs: 100_000,
    originalUs: 200_000,
    limitMilliCpu: 2000,
    quotaUs: 150_000,
    previousUs: 170_000,
    baseMilliCpu: 2000,
    causes: [{ rule: 'node/cpu', action: 'throttle' }],
    sinceMs: 5,
    ...over,
  };
}

function throttledPod(over: Partial<AvoidanceSituation> = {}): AvoidanceSituation {
  return makeSituation({
    pods: [makePod('a', {}, { limitMilliCpu: 2000 })],
    containers: [makeContainer('a', { quotaUs: 150_000, milliCpu: 1500 })],
    throttles: [throttleOf()],
    actingRules: ['node/cpu'],
    ...over,
  });
}

describe('throttles', () => {
  test('steps end when what they release closes the gap', () => {
    // The gap is 1.1 x (7000 - threshold); each step leaves 1800 milli-CPU, and releases 200 of a use of 2000.
    const at = (threshold: number, uses: number[]) =>
      throttlesOf(planAvoidance(makeSituation({ triggered: [makeOrder({ threshold })], ...threePods(uses) })));
    expect(at(6900, [2000, 2000, 2000])).toEqual(['id-a 180000']);
    expect(at(6800, [2000, 2000, 2000])).toEqual(['id-a 180000', 'id-b 180000']);
    expect(at(6700, [2000, 1500, 2000])).toEqual(['id-a 180000', 'id-c 180000']);
    expect(at(6600, [2000, 1500, 2000])).toEqual(['id-a 180000', 'id-c 180000', 'id-b 135000']);
    expect(at(7000, [2000, 2000, 2000])).toEqual([]);
  });

  test('a step says why, and is remembered with its original, its first use and its rules', () => {
    const order = makeOrder({ threshold: 6900, values: [7000] });
    const plan = planAvoidance(makeSituation({ triggered: [order], ...threePods() }));
    expect(plan.throttles).toEqual([
      {
        pod: { uid: 'uid-a', namespace: 'shop', name: 'a' },
        container: 'main',
        id: 'id-a',
        fromUs: 200_000,
        toUs: 180_000,
        periodUs: 100_000,
        rule: 'node/cpu',
        action: 'throttle',
        because:
          'node/cpu: cpu_total_usage is 7000, threshold 6900; quota from 200000 us to 180000 us by a step of 10 %',
      },
    ]);
    expect(plan.throttled).toEqual([
      throttleOf({ quotaUs: 180_000, previousUs: 200_000, baseMilliCpu: 2000, sinceMs: NOW }),
    ]);
  });

  test('a quota far above the use: a step of it would release nothing, so it begins at the use', () => {
    const situation = makeSituation({ triggered: [makeOrder()], ...threePods([1200, 0, 0]) });
    const plan = planAvoidance(situation);
    expect(throttlesOf(plan)).toEqual(['id-a 108000']);
    expect(plan.throttles[0]!.because).toMatch(
      /from 200000 us to 108000 us by a step of 10 % from its use of 120000 us$/,
    );
    expect(plan.throttled).toMatchObject([{ originalUs: 200_000, quotaUs: 108_000 }]);
  });

  test('what releases nothing is left alone, and costs nothing of the budget', () => {
    const options = { excess: 0.1, actionsLeft: 1, evictionsLeft: 0, spentBy: new Map() };
    const names = ['idle', 'low', 'unknown', 'burner'];
    const uses: Record<string, number | undefined> = { idle: 0, low: 1000, unknown: undefined, burner: 2000 };
    const containers = names.map((name) => {
      const { milliCpu: _, ...rest } = makeContainer(name);
      return { ...rest, ...(uses[name] !== undefined && { milliCpu: uses[name] }) };
    });
    // All others go first: they have a lower priority.
    const pods = names.map((name) => makePod(name, { priority: name === 'burner' ? 9 : 0 }, { limitMilliCpu: 2000 }));
    const plan = planAvoidance(makeSituation({ triggered: [makeOrder()], options, pods, containers }));
    expect(throttlesOf(plan)).toEqual(['id-burner 180000']);
    expect(skippedOf(plan)).toEqual([
      'shop/idle/main: no throttle: its use of 0 us is not above its minimum, 50 % of its limit of 2000 milli-CPU',
      'shop/low/main: no throttle: its use of 100000 us is not above its minimum, 50 % of its limit of 2000 milli-CPU',
      'shop/unknown/main: no throttle: its use is unknown',
    ]);
    const all = planAvoidance(
      makeSituation({ triggered: [makeOrder({ metric: 'cpu_load_1_min' })], pods, containers }),
    );
    expect(throttlesOf(all)).toEqual(['id-unknown 180000', 'id-burner 180000']);
  });

  test('where a namespace has used its share, those of others are throttled in their place', () => {
    const { pods, containers } = threePods();
    const namespaces = ['greedy', 'greedy', 'other'];
    const spentBy = new Map([['greedy', { actions: 15, evictions: 0 }]]);
    const options = { excess: 0.1, actionsLeft: 5, evictionsLeft: 0, spentBy };
    const plan = planAvoidance(
      makeSituation({
        triggered: [makeOrder({ threshold: 6850 })],
        options,
        containers,
        pods: pods.map((pod, index) => ({ ...pod, namespace: namespaces[index]! })),
      }),
    );
    expect(throttlesOf(plan)).toEqual(['id-c 180000']);
    expect(plan.skipped).toEqual(
      ['a', 'b'].map((name) => ({
        subject: `greedy/${name}/main`,
        because: 'no throttle: its namespace has used its share of the budget of actions: 15 in this hour',
        beyondBudget: 'throttle',
        shareOf: 'greedy',
      })),
    );
  });

  test('a further step keeps original and first use, and adds its rule', () => {
    const order = makeOrder({ rule: 'node/a', action: { ...THROTTLE, name: 'other' } });
    const plan = planAvoidance(throttledPod({ triggered: [order], actingRules: ['node/cpu', 'node/a'] }));
    const causes = [
      { rule: 'node/a', action: 'other' },
      { rule: 'node/cpu', action: 'throttle' },
    ];
    expect(plan.throttled).toEqual([throttleOf({ quotaUs: 135_000, previousUs: 150_000, causes })]);
  });

  test('without a quota the original is none, and the minimum a share of the first use', () => {
    const pods = [makePod('a')];
    const first = planAvoidance(
      makeSituation({
        triggered: [makeOrder()],
        pods,
        containers: [makeContainer('a', { quotaUs: -1, milliCpu: 1000 })],
      }),
    );
    expect(throttlesOf(first)).toEqual(['id-a 90000']);
    expect(first.throttled[0]).toMatchObject({ originalUs: -1, previousUs: -1, baseMilliCpu: 1000 });
    const containers = [makeContainer('a', { quotaUs: 52_000, milliCpu: 520 })];
    const throttles = [{ ...first.throttled[0]!, quotaUs: 52_000 }];
    expect(
      throttlesOf(planAvoidance(makeSituation({ triggered: [makeOrder()], pods, containers, throttles }))),
    ).toEqual(['id-a 50000']);
  });

  test('the larger ratios of all actions that select a pod count', () => {
    const other = makeAction({ name: 'other', throttle: { minCpuRatio: 85, stepCpuRatio: 20 } });
    const triggered = [makeOrder(), makeOrder({ rule: 'node/other', threshold: 6500, action: other })];
    const plan = planAvoidance(makeSituation({ triggered, ...threePods() }));
    expect(throttlesOf(plan)).toEqual(['id-a 170000', 'id-b 170000', 'id-c 170000']);
    expect(plan.throttles[0]!.because).toMatch(
      /from 200000 us to 170000 us which is its minimum: 85 % of its limit of 2000 milli-CPU$/,
    );
  });

  test.each`
    name                               | pod                         | container                 | because
    ${'a pinned container'}            | ${{}}                       | ${{ isPinned: true }}     | ${'shop/a/main: no throttle: cpusetd manages its CPUs or its quota, or leaves it alone'}
    ${'a critical pod'}                | ${{ isCritical: true }}     | ${{}}                     | ${'shop/a: no throttle: it is critical'}
    ${'a static pod'}                  | ${{ isStatic: true }}       | ${{}}                     | ${'shop/a: no throttle: it is a static pod'}
    ${'a pod that is being deleted'}   | ${{ isBeingDeleted: true }} | ${{}}                     | ${'shop/a: no throttle: it is being deleted'}
    ${'a pod that has ended'}          | ${{ phase: 'Failed' }}      | ${{}}                     | ${'shop/a: no throttle: it has ended: its phase is Failed'}
    ${'a Guaranteed pod'}              | ${{ qos: 'Guaranteed' }}    | ${{}}                     | ${'shop/a: no throttle: its class is Guaranteed: its request is its limit, so each step would go below its request'}
    ${'a container of no known quota'} | ${{}}                       | ${{ quotaUs: undefined }} | ${'shop/a/main: no throttle: its quota could not be read'}
    ${'a container of no spec'}        | ${{ containers: [] }}       | ${{}}                     | ${'shop/a/main: no throttle: it is not in the spec of its pod'}
  `('spare $name', ({ pod, container, because }: { pod: object; container: object; because: string }) => {
    const plan = planAvoidance(
      makeSituation({
        triggered: [makeOrder()],
        pods: [makePod('a', pod)],
        containers: [makeContainer('a', container)],
      }),
    );
    expect(plan.throttles).toEqual([]);
    expect(skippedOf(plan)).toEqual([because]);
  });

  test.each([
    ['an init container that does not end', { name: 'setup', isInit: true as const }, 'Pending'],
    ['an ephemeral container', { name: 'debugger' }, 'Running'],
  ])('load in %s is throttled, and its pod evicted, like any other', (_, spec, phase) => {
    const planFor = (action: typeof THROTTLE) =>
      planAvoidance(
        makeSituation({
          triggered: [makeOrder({ action })],
          pods: [makePod('a', { phase, containers: [{ name: 'main' }, spec] })],
          containers: [makeContainer('a', { name: spec.name, milliCpu: 2000 })],
        }),
      );
    expect(planFor(THROTTLE).throttles).toMatchObject([{ container: spec.name, toUs: 180_000 }]);
    expect(planFor(EVICT).evictions).toMatchObject([{ pod: { name: 'a' } }]);
  });

  test('a pod that no PodQOS allows the action for is not touched', () => {
    const { containers, pods } = threePods();
    const spared = pods.map((pod) => ({ ...pod, labels: { spared: '' } }));
    expect(planAvoidance(makeSituation({ triggered: [makeOrder()], containers, pods: spared })).throttles).toEqual([]);
    const podQoses = [{ ...EVERY_ACTION, allowedActions: ['evict'] }];
    expect(planAvoidance(makeSituation({ triggered: [makeOrder()], containers, pods, podQoses })).throttles).toEqual(
      [],
    );
  });

  test.each`
    name                          | metric               | now
    ${'a metric without a gap'}   | ${'cpu_load_1_min'}  | ${{ cpu_load_1_min: 12 }}
    ${'a metric without a value'} | ${'cpu_total_usage'} | ${{}}
  `('$name throttles all selected pods', ({ metric, now }: { metric: string; now: Record<string, number> }) => {
    const plan = planAvoidance(
      makeSituation({ triggered: [makeOrder({ metric })], metrics: metrics(now), ...threePods() }),
    );
    expect(plan.throttles).toHaveLength(3);
  });

  test.each(['memory_total_usage', 'memory_total_utilization', 'cpu_total_utilization'])(
    'none is taken for %s',
    (metric) => {
      const plan = planAvoidance(makeSituation({ triggered: [makeOrder({ metric, threshold: 1 })], ...threePods() }));
      expect(plan.throttles).toEqual([]);
      expect(skippedOf(plan)).toEqual([`node/cpu: no throttle: only evictions are taken for ${metric}`]);
    },
  );

  test('what a metric without a gap releases counts for the gap of the other', () => {
    const { containers, pods } = threePods([2000, 2000, 2000]);
    const triggered = [
      makeOrder({ rule: 'node/load', metric: 'cpu_load_1_min', action: { ...THROTTLE, name: 'other' } }),
      makeOrder({ threshold: 6800 }),
    ];
    const podQoses = [
      { ...EVERY_ACTION, name: 'a', allowedActions: ['other'] },
      { ...EVERY_ACTION, name: 'rest', allowedActions: ['throttle'] },
    ];
    const podMatches: AvoidanceSituation['podMatches'] = ({ name }, pod) => (name === 'a') === (pod.name === 'a');
    // Of the 220 milli-CPU, a releases 200 and b the rest.
    const plan = planAvoidance(makeSituation({ triggered, podQoses, podMatches, containers, pods }));
    expect(throttlesOf(plan)).toEqual(['id-a 180000', 'id-b 180000']);
  });

  test('a step names the rule with the smallest watermark of those that select its pod', () => {
    const triggered = [6500, 6100, 6100].map((threshold, index) => makeOrder({ rule: `node/${index}`, threshold }));
    const plan = planAvoidance(makeSituation({ triggered, ...threePods() }));
    expect(plan.throttles.map(({ rule }) => rule)).toEqual(['node/1', 'node/1', 'node/1']);
  });

  test('the budget ends them, and names what the gap would have needed', () => {
    const options = { excess: 0.1, actionsLeft: 1, evictionsLeft: 9, spentBy: new Map() };
    const plan = planAvoidance(
      makeSituation({ triggered: [makeOrder({ threshold: 6800 })], options, ...threePods([2000, 2000, 2000]) }),
    );
    expect(throttlesOf(plan)).toEqual(['id-a 180000']);
    expect(skippedOf(plan)).toEqual(['shop/b/main: no throttle: the budget of actions is used: 1 of 1']);
  });
});

describe('evictions', () => {
  const evictOrder = (over = {}) => makeOrder({ rule: 'node/evict', action: EVICT, ...over });

  test('each counts its whole use, until the gap is closed', () => {
    const at = (threshold: number) =>
      evictionsOf(planAvoidance(makeSituation({ triggered: [evictOrder({ threshold })], ...threePods() })));
    expect(at(6000)).toEqual(['a']); // 1100 <= 2000
    expect(at(5100)).toEqual(['a', 'b']); // 2090 > 2000
    expect(at(1000)).toEqual(['a', 'b', 'c']);
  });

  test('what is evicted for one metric counts for the others', () => {
    const triggered = [
      evictOrder({ threshold: 6000 }),
      evictOrder({ rule: 'node/percent', metric: 'cpu_total_utilization', threshold: 75 }),
      evictOrder({ rule: 'node/memory', metric: 'memory_total_usage', threshold: 5000 }),
    ];
    const now = metrics({ cpu_total_usage: 7000, cpu_total_utilization: 87.5, memory_total_usage: 6000 });
    const { containers, pods } = threePods();
    expect(evictionsOf(planAvoidance(makeSituation({ triggered, metrics: now, containers, pods })))).toEqual([
      'a',
      'b',
    ]);
    const large = containers.map((container) => ({ ...container, memoryBytes: 1100 }));
    expect(evictionsOf(planAvoidance(makeSituation({ triggered, metrics: now, containers: large, pods })))).toEqual([
      'a',
    ]);
  });

  test('a pod that is being deleted counts as released, but throttles do not wait for its end', () => {
    const { containers, pods } = threePods();
    const leaving = pods.map((pod) => ({ ...pod, isBeingDeleted: pod.name === 'b' }));
    const at = (threshold: number, action: AvoidanceAction) => {
      const triggered = [evictOrder({ threshold, action })];
      const plan = planAvoidance(makeSituation({ triggered, containers, pods: leaving }));
      return [...evictionsOf(plan), ...throttlesOf(plan)];
    };
    expect(at(6000, EVICT)).toEqual([]); // 1100 - 1500
    expect(at(5000, EVICT)).toEqual(['a']); // 2200 - 1500
    expect(at(6000, BOTH)).toEqual(['id-a 180000', 'id-c 180000']);
  });

  test('memory is released by those that use most of it', () => {
    const { containers, pods } = threePods();
    const memory = containers.map((container, index) => ({ ...container, memoryBytes: 1000 * (index + 1) }));
    const triggered = [evictOrder({ metric: 'memory_total_utilization', threshold: 50 })];
    const now = metrics({ memory_total_utilization: 53 }); // 3300 of 100,000 bytes
    expect(evictionsOf(planAvoidance(makeSituation({ triggered, metrics: now, containers: memory, pods })))).toEqual([
      'c',
      'b',
    ]);
  });

  test.each`
    name                                    | ofActions          | ofPod        | want
    ${'of the action'}                      | ${[5]}             | ${60}        | ${5}
    ${'of the action, of 0 seconds'}        | ${[0]}             | ${60}        | ${0}
    ${'the smallest of those of two'}       | ${[20, 10]}        | ${5}         | ${10}
    ${'of the one action that has one'}     | ${[undefined, 20]} | ${5}         | ${20}
    ${'of the pod where no action has one'} | ${[undefined]}     | ${60}        | ${60}
    ${'absent where nobody has one'}        | ${[undefined]}     | ${undefined} | ${undefined}
  `(
    'the grace period is $name',
    ({ ofActions, ofPod, want }: { ofActions: (number | undefined)[]; ofPod?: number; want?: number }) => {
      const triggered = ofActions.map((graceSeconds, index) =>
        evictOrder({
          rule: `node/${index}`,
          action: { ...EVICT, eviction: graceSeconds === undefined ? {} : { graceSeconds } },
        }),
      );
      const pod = makePod('a', ofPod === undefined ? {} : { graceSeconds: ofPod });
      const plan = planAvoidance(makeSituation({ triggered, pods: [pod], containers: [makeContainer('a')] }));
      expect(plan.evictions.map(({ graceSeconds }) => graceSeconds)).toEqual([want]);
    },
  );

  test.each`
    name                              | pod                         | container                  | because
    ${'a pod with pinned containers'} | ${{}}                       | ${{ isPinned: true }}      | ${'cpusetd manages CPUs or quota of its container main, or leaves it alone'}
    ${'a critical pod'}               | ${{ isCritical: true }}     | ${{}}                      | ${'it is critical'}
    ${'a static pod'}                 | ${{ isStatic: true }}       | ${{}}                      | ${'it is a static pod'}
    ${'a pod that is being deleted'}  | ${{ isBeingDeleted: true }} | ${{}}                      | ${'it is being deleted already'}
    ${'a pod that has succeeded'}     | ${{ phase: 'Succeeded' }}   | ${{}}                      | ${'it has ended: its phase is Succeeded'}
    ${'a pod that has failed'}        | ${{ phase: 'Failed' }}      | ${{}}                      | ${'it has ended: its phase is Failed'}
    ${'a pod of unknown use'}         | ${{}}                       | ${{ milliCpu: undefined }} | ${'its use is unknown'}
    ${'an idle pod'}                  | ${{}}                       | ${{ milliCpu: 0 }}         | ${'it uses nothing that would be released'}
  `('spare $name', ({ pod, container, because }: { pod: object; container: object; because: string }) => {
    const plan = planAvoidance(
      makeSituation({
        triggered: [evictOrder()],
        pods: [makePod('a', pod)],
        containers: [makeContainer('a', container)],
      }),
    );
    expect(plan.evictions).toEqual([]);
    expect(skippedOf(plan)).toEqual([`shop/a: no eviction: ${because}`]);
  });

  test('the use of a pod without containers is unknown', () => {
    const plan = planAvoidance(makeSituation({ triggered: [evictOrder()], pods: [makePod('a')] }));
    expect(skippedOf(plan)).toEqual(['shop/a: no eviction: its use is unknown']);
  });

  test('a metric without a value takes all selected pods, as far as the budget of evictions reaches', () => {
    const options = { excess: 0.1, actionsLeft: 9, evictionsLeft: 2, spentBy: new Map() };
    const plan = planAvoidance(
      makeSituation({ triggered: [evictOrder()], metrics: new Map(), options, ...threePods([undefined, 2000, 1500]) }),
    );
    expect(evictionsOf(plan)).toEqual(['b', 'c']);
    expect(skippedOf(plan)).toEqual(['shop/a: no eviction: the budget of evictions is used: 2 of 2']);
  });

  test('evictions come first: what they release is not throttled for, and their pods are not throttled', () => {
    const at = (threshold: number, evictionsLeft: number) => {
      const options = { excess: 0.1, actionsLeft: 9, evictionsLeft, spentBy: new Map() };
      const triggered = [makeOrder({ threshold, action: BOTH })];
      const plan = planAvoidance(makeSituation({ triggered, options, ...threePods([2000, 2000, 2000]) }));
      return [...evictionsOf(plan), ...throttlesOf(plan)];
    };
    expect(at(6000, 9)).toEqual(['a']);
    expect(at(5000, 1)).toEqual(['a', 'id-b 180000']); // 2200 - 2000 = 200 are left
    expect(at(5000, 9)).toEqual(['a', 'b']);
  });

  test('an eviction is an action, so throttles have the rest of the budget', () => {
    const options = { excess: 0, actionsLeft: 2, evictionsLeft: 1, spentBy: new Map() };
    const triggered = [makeOrder({ threshold: 1000, action: BOTH })];
    const plan = planAvoidance(makeSituation({ triggered, options, ...threePods([2000, 2000, 2000]) }));
    expect([...evictionsOf(plan), ...throttlesOf(plan)]).toEqual(['a', 'id-b 180000']);
    expect(skippedOf(plan)).toEqual([
      'shop/b: no eviction: the budget of evictions is used: 1 of 1',
      'shop/c: no eviction: the budget of evictions is used: 1 of 1',
      'shop/c/main: no throttle: the budget of actions is used: 2 of 2',
    ]);
  });

  test('a pod is evicted only for rules whose action its PodQOS allows', () => {
    const { containers, pods } = threePods();
    const triggered = [
      evictOrder({ threshold: 1000 }),
      evictOrder({
        rule: 'node/memory',
        metric: 'memory_total_usage',
        threshold: 1e9,
        action: { ...EVICT, name: 'other' },
      }),
    ];
    const podQoses = [{ ...EVERY_ACTION, allowedActions: ['other'] }];
    const now = metrics({ cpu_total_usage: 7000, memory_total_usage: 1 });
    expect(planAvoidance(makeSituation({ triggered, podQoses, metrics: now, containers, pods })).evictions).toEqual([]);
  });
});

describe('restores', () => {
  const calm = (over = {}) => makeOrder({ threshold: 8000, ...over });

  test('a calm rule raises by a step, and ends with the original', () => {
    const plan = planAvoidance(throttledPod({ restored: [calm()] }));
    expect(restoresOf(plan)).toEqual(['id-a 165000']);
    expect(plan.throttled).toEqual([throttleOf({ quotaUs: 165_000, previousUs: 150_000 })]);
    const containers = [makeContainer('a', { quotaUs: 190_000, milliCpu: 1500 })];
    const last = planAvoidance(
      throttledPod({ restored: [calm()], containers, throttles: [throttleOf({ quotaUs: 190_000 })] }),
    );
    expect(restoresOf(last)).toEqual(['id-a 200000']);
    expect(last.throttled).toEqual([throttleOf({ quotaUs: 200_000, previousUs: 190_000 })]);
  });

  test('no quota is put back as none', () => {
    const pods = [makePod('a', {}, { elasticLimitMilliCpu: 1600 })];
    const plan = planAvoidance(throttledPod({ restored: [calm()], pods, throttles: [throttleOf({ originalUs: -1 })] }));
    expect(restoresOf(plan)).toEqual(['id-a -1']);
    expect(plan.throttled).toMatchObject([{ quotaUs: -1, previousUs: 150_000 }]);
  });

  test.each`
    name                                             | over
    ${'its rule is neither calm nor triggered'}      | ${{ restored: [calm({ rule: 'node/other' })] }}
    ${'its rule is calm, but only in preview'}       | ${{ restored: [calm({ isPreview: true })] }}
    ${'one of its rules is not calm'}                | ${{ restored: [calm()], actingRules: ['node/cpu', 'node/b'], throttles: [throttleOf({ causes: [{ rule: 'node/b', action: 'throttle' }, { rule: 'node/cpu', action: 'throttle' }] })] }}
    ${'another rule is triggered that may lower it'} | ${{ restored: [calm()], triggered: [makeOrder({ rule: 'node/b', threshold: 7000 })], actingRules: ['node/cpu', 'node/b'] }}
    ${'the metric is at the watermark'}              | ${{ restored: [calm({ threshold: 7000 })] }}
    ${'its quota could not be read'}                 | ${{ restored: [calm()], containers: [makeContainer('a', { quotaUs: undefined } as object)] }}
  `('a throttle stays where $name', ({ over }: { over: Partial<AvoidanceSituation> }) => {
    const plan = planAvoidance(throttledPod({ actingRules: ['node/cpu'], ...over }));
    expect([...plan.restores, ...plan.throttles, ...plan.ended]).toEqual([]);
    expect(plan.throttled.map(({ quotaUs }) => quotaUs)).toEqual([150_000]);
  });

  test.each`
    name                                          | over                                                                                       | because
    ${'its rule does not act any more'}           | ${{ actingRules: [] }}                                                                     | ${/the rule node\/cpu does not act any more/}
    ${'no PodQOS allows its action any more'}     | ${{ podQoses: [] }}                                                                        | ${/the action of node\/cpu does not throttle this pod any more/}
    ${'the action of its rule throttles no more'} | ${{ triggered: [makeOrder({ action: { ...EVICT, name: 'throttle' }, threshold: 9000 })] }} | ${/the action of node\/cpu does not throttle this pod any more/}
    ${'its pod is being deleted'}                 | ${{ pods: [makePod('a', { isBeingDeleted: true })] }}                                      | ${/its pod is being deleted/}
  `(
    'a quota goes back at once where $name',
    ({ over, because }: { over: Partial<AvoidanceSituation>; because: RegExp }) => {
      const plan = planAvoidance(throttledPod(over));
      expect(restoresOf(plan)).toEqual(['id-a 200000']);
      expect(plan.restores[0]!.because).toMatch(because);
    },
  );

  test('a request that was raised above the quota is met at once, even while the rule is triggered', () => {
    const pods = [makePod('a', {}, { limitMilliCpu: 2000, requestMilliCpu: 1800 })];
    const plan = planAvoidance(throttledPod({ triggered: [makeOrder()], pods }));
    expect(restoresOf(plan)).toEqual(['id-a 180000']);
    expect(plan.throttles).toEqual([]);
  });

  test('the gap on the way up is used by those that went last', () => {
    const names = ['a', 'b', 'c'];
    const situation = (used: number) =>
      makeSituation({
        restored: [calm()],
        metrics: metrics({ cpu_total_usage: used }),
        pods: names.map((name) => makePod(name, {}, { limitMilliCpu: 2000 })),
        containers: names.map((name, index) => makeContainer(name, { quotaUs: 150_000, milliCpu: 1500 - index })),
        throttles: names.map((name) => throttleOf({ id: `id-${name}`, podUid: `uid-${name}`, pod: name })),
      });
    // Each step gives about 150 milli-CPU.
    expect(restoresOf(planAvoidance(situation(7900)))).toEqual(['id-c 165000']);
    expect(restoresOf(planAvoidance(situation(7700)))).toEqual(['id-b 165000', 'id-c 165000']);
    expect(restoresOf(planAvoidance(situation(7000)))).toEqual(['id-a 165000', 'id-b 165000', 'id-c 165000']);
  });

  test('a container that this daemon did not throttle is not raised', () => {
    expect(planAvoidance(throttledPod({ restored: [calm()], throttles: [] })).restores).toEqual([]);
  });
});

describe('throttles that end without a step', () => {
  test.each`
    name                            | containers                                                      | because
    ${'the container is gone'}      | ${[]}                                                           | ${'the container is gone'}
    ${'it is pinned now'}           | ${[makeContainer('a', { quotaUs: 150_000, isPinned: true })]}   | ${'cpusetd manages its quota now, or leaves it alone'}
    ${'a resize changed the quota'} | ${[makeContainer('a', { quotaUs: 300_000 })]}                   | ${'someone else changed its quota from 150000 us to 300000 us'}
    ${'someone removed the quota'}  | ${[makeContainer('a', { quotaUs: -1 })]}                        | ${'someone else changed its quota from 150000 us to none'}
    ${'someone changed the period'} | ${[makeContainer('a', { quotaUs: 150_000, periodUs: 50_000 })]} | ${'someone else changed its period from 100000 us to 50000 us'}
    ${'the original is back'}       | ${[makeContainer('a')]}                                         | ${'its quota is the original'}
  `('$name', ({ containers, because }: { containers: AvoidanceSituation['containers']; because: string }) => {
    const plan = planAvoidance(throttledPod({ restored: [makeOrder({ threshold: 8000 })], containers }));
    expect(plan.ended).toEqual([{ subject: 'shop/a/main', because }]);
    expect([...plan.restores, ...plan.throttled]).toEqual([]);
  });

  test('a limit that was lowered since is the original now', () => {
    const pods = [makePod('a', {}, { limitMilliCpu: 1600 })];
    const restored = [makeOrder({ threshold: 8000 })];
    expect(restoresOf(planAvoidance(throttledPod({ pods, restored })))).toEqual(['id-a 160000']);
    const containers = [makeContainer('a', { quotaUs: 160_000 })];
    expect(planAvoidance(throttledPod({ pods, restored, containers })).ended).toEqual([
      { subject: 'shop/a/main', because: 'its quota is the original' },
    ]);
  });

  test.each`
    name                        | quota
    ${'was written'}            | ${150_000}
    ${'was not written'}        | ${170_000}
    ${'was rounded by systemd'} | ${151_000}
  `('a step that $name is none of them', ({ quota }: { quota: number }) => {
    const containers = [makeContainer('a', { quotaUs: quota })];
    const plan = planAvoidance(
      throttledPod({ containers, throttles: [throttleOf({ quotaUs: quota === 151_000 ? 150_500 : 150_000 })] }),
    );
    expect(plan.ended).toEqual([]);
    expect(plan.throttled).toMatchObject([{ quotaUs: quota, originalUs: 200_000 }]);
  });
});

describe('preview', () => {
  test('rules in preview have no step, and show what they would do', () => {
    const triggered = [makeOrder({ threshold: 5000, action: BOTH, isPreview: true })];
    const options = { excess: 0.1, actionsLeft: 9, evictionsLeft: 1, spentBy: new Map() };
    const plan = planAvoidance(makeSituation({ triggered, options, ...threePods([2000, 2000, 2000]) }));
    expect([...plan.throttles, ...plan.evictions, ...plan.skipped, ...plan.throttled]).toEqual([]);
    expect([...evictionsOf(plan.previewed), ...throttlesOf(plan.previewed)]).toEqual(['a', 'id-b 180000']);
    expect(skippedOf(plan.previewed)).toEqual(['shop/b: no eviction: the budget of evictions is used: 1 of 1']);
  });

  test('they do not hold a throttle of a rule that acts', () => {
    const triggered = [makeOrder({ rule: 'node/b', threshold: 1, isPreview: true })];
    const plan = planAvoidance(throttledPod({ triggered, restored: [makeOrder({ threshold: 8000 })] }));
    expect(restoresOf(plan)).toEqual(['id-a 165000']);
  });
});

describe('planUndoAll', () => {
  const throttles = [throttleOf({ id: 'id-b', pod: 'b', originalUs: -1 }), throttleOf()];

  test('gives back each original', () => {
    const { restores, skipped } = planUndoAll(throttles);
    expect(restoresOf({ restores })).toEqual(['id-a 200000', 'id-b -1']);
    expect(restores[0]!.because).toBe('all throttles are undone: from 150000 us to 200000 us');
    expect(skipped).toEqual([]);
  });

  test('with the containers, it writes nothing over the change of someone else', () => {
    const { restores, skipped } = planUndoAll(throttles, [
      makeContainer('a', { quotaUs: 300_000 }),
      makeContainer('b', { quotaUs: undefined } as object),
    ]);
    expect(restoresOf({ restores })).toEqual(['id-b -1']);
    expect(skipped).toEqual([
      { subject: 'shop/a/main', because: 'someone else changed its quota from 150000 us to 300000 us' },
    ]);
  });
});
