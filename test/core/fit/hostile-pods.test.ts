import { fitPod, PLAIN_RULES, type NodeOffer, type NodeRules } from '../../../src/core/fit';
import { podOf } from '../../scheduling/topology/objects';

const rules: NodeRules = { ...PLAIN_RULES, topologyPolicy: 'restricted' };

test.each([true, false])(
  'a pod with thousands of containers on a machine of 16 NUMA nodes costs less than 50 ms (by results: %s)',
  (byResults) => {
    const zones = Array.from({ length: 16 }, (_, id) => ({
      name: `node${id}`,
      capacityCpu: 512_000,
      allocatable: new Map([['cpu', 500_000]]),
    }));
    const offer: NodeOffer = { isStatic: true, isAware: false, byResults, zones, rules };
    const pod = podOf(Array.from({ length: 5_000 }, () => '1'));
    expect(fitPod(pod, offer, new Map()).kind).toBe('no-fit'); // and what is remembered of the pod is there
    const startMs = performance.now();
    expect(fitPod(pod, offer, new Map()).kind).toBe('no-fit');
    expect(performance.now() - startMs).toBeLessThan(50);
  },
);

test('a pod of many containers that fits into one NUMA node fits', () => {
  const zones = [40, 80].map((cpus, id) => ({
    name: `node${id}`,
    capacityCpu: cpus * 1_000,
    allocatable: new Map([['cpu', cpus * 1_000]]),
  }));
  const pod = podOf(Array.from({ length: 70 }, () => '1'));
  for (const byResults of [true, false])
    expect(fitPod(pod, { isStatic: true, isAware: false, byResults, zones, rules }, new Map()).kind).toBe('fit');
});

test.each([2, 4, 8, 16])(
  'a pod that has to be started container by container on %i zones costs less than 4 ms of CPU time',
  (count) => {
    const zones = Array.from({ length: count }, (_, id) => ({
      name: `node${id}`,
      capacityCpu: 16_000,
      allocatable: new Map([['cpu', id % 2 === 0 ? 7_000 : 5_000]]),
    }));
    const offer: NodeOffer = { isStatic: true, isAware: false, byResults: true, zones, rules };
    const pods = [1, 2, 4, 8, 16, 32, 64].map((containers) => podOf(Array.from({ length: containers }, () => '2')));
    for (const pod of pods) fitPod(pod, offer, new Map());
    const before = process.cpuUsage();
    for (let turn = 0; turn < 5; turn++) for (const pod of pods) fitPod(pod, offer, new Map());
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000 / (5 * pods.length)).toBeLessThan(4);
  },
);

test('more NUMA nodes than a topology manager compares: nothing fits', () => {
  const zones = Array.from({ length: 17 }, (_, id) => ({
    name: `node${id}`,
    capacityCpu: 4_000,
    allocatable: new Map([['cpu', 4_000]]),
  }));
  for (const byResults of [true, false])
    expect(fitPod(podOf(['2']), { isStatic: true, isAware: false, byResults, zones, rules }, new Map()).kind).toBe(
      'no-fit',
    );
});
