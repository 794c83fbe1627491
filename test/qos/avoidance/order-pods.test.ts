import { orderPods, type PodUse } from '../../../src/qos/avoidance/order-pods';
import { createRandom } from '../../support/random';
import { makePod } from './builders';

const use = (name: string, over: Parameters<typeof makePod>[1] = {}, figures: Omit<PodUse, 'pod'> = {}): PodUse => ({
  pod: makePod(name, over),
  ...figures,
});
const elastic = (cpu: number, memory: number) => ({
  containers: [{ name: 'main', elasticLimitMilliCpu: cpu, elasticLimitMemoryBytes: memory }],
});

/** Each pod differs from the next by one criterion, and by an opposite one that counts less. */
const ordered = {
  cpu: [
    use('elastic', { ...elastic(100, 0), priority: 9 }),
    use('low-priority', { priority: -1, qos: 'Guaranteed' }),
    use('best-effort', { qos: 'BestEffort' }, { milliCpu: 1 }),
    use('more-use', { startedAtMs: 1 }, { milliCpu: 500 }),
    use('younger', { startedAtMs: 5 }, { milliCpu: 400 }),
    use('a', { startedAtMs: 3 }, { milliCpu: 400 }),
    use('b', { startedAtMs: 3 }, { milliCpu: 400 }),
    use('unknown-use', { startedAtMs: 9 }),
    use('guaranteed', { qos: 'Guaranteed' }, { milliCpu: 900 }),
  ],
  memory: [
    use('elastic', { ...elastic(0, 100), priority: 9 }),
    use('low-priority', { priority: -1, qos: 'Guaranteed' }),
    use('more-use', {}, { memoryBytes: 500, milliCpu: 1 }),
    use('less-use', {}, { memoryBytes: 400, milliCpu: 900 }),
  ],
  general: [
    use('low-priority', { priority: -1, qos: 'Guaranteed' }),
    use('best-effort', { qos: 'BestEffort' }),
    use('younger', { startedAtMs: 5 }, { milliCpu: 1 }),
    use('older', { startedAtMs: 3, ...elastic(1, 1) }, { milliCpu: 900, memoryBytes: 900 }),
  ],
};

test.each(['cpu', 'memory', 'general'] as const)(
  '%s: the order of pods does not depend on the order of the input',
  (name) => {
    const resource = name === 'general' ? undefined : name;
    const names = ordered[name].map(({ pod }) => pod.name);
    const random = createRandom(7);
    for (let round = 0; round < 50; round++) {
      const shuffled = [...ordered[name]].sort(() => random.int(0, 2) - 1);
      expect(orderPods(shuffled, resource).map(({ pod }) => pod.name)).toEqual(names);
    }
  },
);

test('of elastic pods with the same use, the one with a smaller share of its limit is first', () => {
  const pods = [
    use('large-share', elastic(400, 0), { milliCpu: 200 }),
    use('small-share', elastic(800, 0), { milliCpu: 200 }),
  ];
  expect(orderPods(pods, 'cpu').map(({ pod }) => pod.name)).toEqual(['small-share', 'large-share']);
});

test('ties are broken by the namespace before the name', () => {
  const pods = [use('a', { namespace: 'z' }), use('b', { namespace: 'y' })];
  expect(orderPods(pods, undefined).map(({ pod }) => pod.name)).toEqual(['b', 'a']);
});

test('the limit of an init container, which has to end first, makes no pod an elastic one', () => {
  const containers = [{ name: 'setup', isInit: true as const, elasticLimitMilliCpu: 9_000 }, { name: 'main' }];
  const pods = [use('plain', { containers }, { milliCpu: 200 }), use('elastic', elastic(1, 0), { milliCpu: 1 })];
  expect(orderPods(pods, 'cpu').map(({ pod }) => pod.name)).toEqual(['elastic', 'plain']);
});
