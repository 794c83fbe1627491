import fc from 'fast-check';
import { fitPod, fitsInto, messageOf, sumUse, type Fit } from '../../../src/core/fit';
import { formatTopologyResult, readCraneOffer, readPodToPlace, readTopologyResult } from '../../../src/kube';
import { scoreFit } from '../../../src/scheduling/topology/score-fit';
import {
  AWARENESS,
  CPU_POLICY,
  cpusOf,
  guaranteed,
  offerOf,
  podObject,
  podOf,
  resultText,
  sidecar,
  topologyObject,
  type ContainerShape,
  type PodShape,
  type TopologyShape,
} from '../../scheduling/topology/objects';

/** `node0: 2, node1: 8`, `passes: REASON`, or `refused: MESSAGE`. */
function show(fit: Fit): string {
  switch (fit.kind) {
    case 'skip':
      return `passes: ${fit.because}`;
    case 'fit':
      return fit.grants.map(({ zone, amounts }) => `${zone}: ${(amounts.get('cpu') ?? 0) / 1_000}`).join(', ');
    case 'no-fit':
      return `refused: ${messageOf(fit.obstacle)}`;
  }
}

const UNAWARE = { annotations: { [AWARENESS]: 'false' } };
const SHARES = 'passes: no container of the pod gets CPUs of its own on the node';
const INSUFFICIENT = 'refused: node(s) had insufficient resource of NUMA node';

describe('the vectors of crane-scheduler: zones of 7 and 8 CPUs, 2 of the first used', () => {
  const fractional: ContainerShape = { requests: { cpu: '1500m' } };
  test.each<[string, (string | ContainerShape)[], PodShape, Partial<TopologyShape>, string, number]>([
    ['4 CPUs', ['4'], {}, {}, 'node1: 4', 100],
    ['8 CPUs, as many as a zone has', ['8'], {}, {}, 'node1: 8', 100],
    ['9 CPUs', ['9'], {}, {}, INSUFFICIENT, 0],
    ['two containers with 8 CPUs together', ['6', '2000m'], {}, {}, 'node1: 8', 100],
    ['10 CPUs, not aware', ['10'], UNAWARE, {}, 'node0: 2, node1: 8', 50],
    ['8 CPUs, not aware', ['8'], UNAWARE, {}, 'node1: 8', 100],
    ['14 CPUs, not aware: one more than free', ['14'], UNAWARE, {}, INSUFFICIENT, 0],
    ['CPU policy none', ['4'], { annotations: { [CPU_POLICY]: 'none' } }, {}, 'passes: no container of the pod wants whole CPUs', 0],
    ['CPU policy None, which is no policy', ['4'], { annotations: { [CPU_POLICY]: 'None' } }, {}, 'node1: 4', 100],
    ['request below limit', [{ requests: { cpu: '2' }, limits: { cpu: '4' } }], {}, {}, 'passes: no container of the pod wants whole CPUs', 0],
    ['no limit', [{ requests: { cpu: '2' }, limits: {} }], {}, {}, 'passes: no container of the pod wants whole CPUs', 0],
    ['a fraction', [fractional], {}, {}, 'passes: no container of the pod wants whole CPUs', 0],
    ['a fraction beside whole CPUs', [fractional, '3'], {}, {}, 'node1: 3', 100],
    ['an init container only', [fractional], { init: [guaranteed('2')] }, {}, 'passes: no container of the pod wants whole CPUs', 0],
    ['a pod of a DaemonSet', ['4'], { owner: 'DaemonSet' }, {}, 'passes: the pod is of a DaemonSet', 0],
    ['a pod of a ReplicaSet', ['4'], { owner: 'ReplicaSet' }, {}, 'node1: 4', 100],
    ['cpuManagerPolicy None', ['4'], {}, { isStatic: false }, 'passes: the node chooses CPUs itself', 0],
    ['a node that is not aware', ['10'], {}, { isAware: false }, 'node0: 2, node1: 8', 50],
    ['an aware pod there', ['10'], { annotations: { [AWARENESS]: 'true' } }, { isAware: false }, INSUFFICIENT, 0],
    ['a pod whose awareness is no boolean of Go', ['10'], { annotations: { [AWARENESS]: 'yes' } }, { isAware: false }, 'node0: 2, node1: 8', 50],
  ])('given %s: expected zones and score', (_name, containers, pod, node, want, score) => {
    const fit = fitPod(podOf(containers, pod), offerOf({ zones: ['7', '8'], ...node }), cpusOf(2, 0));
    expect([show(fit), scoreFit(fit)]).toEqual([want, score]);
  }); // prettier-ignore

  test('given no topology: refused with the message of crane-scheduler', () => {
    expect(show(fitPod(podOf(['1']), undefined, cpusOf()))).toBe('refused: node(s) failed to get NRT');
  });

  test('given resources without cpu: the pod passes', () => {
    const pod = readPodToPlace(podObject(['4']), ['memory'])!;
    expect(show(fitPod(pod, offerOf({ zones: ['1'] }), cpusOf()))).toMatch(/^passes/);
  });
});

describe('the faults of crane-scheduler', () => {
  test('given equal zones: the lower number first, however the object orders them', () => {
    const zones = ['4', '4', '4', '4', '4', '4', '4', '4', '4', '4', '4'];
    const object = topologyObject({ zones });
    const turned = { ...object, zones: [...object.zones].reverse() };
    for (const each of [object, turned]) {
      const topology = readCraneOffer(each);
      expect(show(fitPod(podOf(['3']), topology, cpusOf()))).toBe('node0: 3');
      expect(show(fitPod(podOf(['3']), topology, cpusOf(1, 1)))).toBe('node2: 3');
    }
  });

  test('given more than ten zones: the result is sorted by name as text, as upstream writes it', () => {
    const topology = offerOf({ zones: Array.from({ length: 11 }, () => '1'), isAware: false });
    expect(show(fitPod(podOf(['11']), topology, cpusOf()))).toMatch(/^node0: 1, node1: 1, node10: 1, node2: 1/);
  });

  test('given a zone that is over-used: it has nothing, and takes nothing from the others', () => {
    const topology = offerOf({ zones: ['2', '8'] });
    expect(show(fitPod(podOf(['8'], UNAWARE), topology, cpusOf(5, 0)))).toBe('node1: 8');
    expect(show(fitPod(podOf(['9'], UNAWARE), topology, cpusOf(5, 0)))).toBe(INSUFFICIENT);
  });

  test('given fractions of free CPUs: whole CPUs are given', () => {
    const topology = offerOf({ zones: ['3500m', '2500m'] });
    expect(show(fitPod(podOf(['5'], UNAWARE), topology, cpusOf()))).toBe('node0: 3, node1: 2');
    expect(show(fitPod(podOf(['6'], UNAWARE), topology, cpusOf()))).toBe(INSUFFICIENT);
    expect(show(fitPod(podOf(['3'], UNAWARE), topology, cpusOf(0.5)))).toBe('node0: 3');
  });

  test('given memory as a resource: it decides, and the result has its own amount', () => {
    const zones = [{ cpu: '8', memory: '1Gi' }, { cpu: '4', memory: '4Gi' }, { cpu: '2', memory: '4Gi' }]; // prettier-ignore
    const pod = readPodToPlace(podObject([{ requests: { cpu: '2', memory: '2Gi' } }]), ['cpu', 'memory'])!;
    const fit = fitPod(pod, offerOf({ zones }), cpusOf());
    if (fit.kind !== 'fit') throw new Error('it fits');
    expect(formatTopologyResult(fit.grants)).toBe(
      '[{"name":"node1","type":"Node","resources":{"capacity":{"cpu":"2","memory":"2147483648"}}}]',
    );
  });
});

describe('the rules of cpusetd’s nodes', () => {
  const wholeCores = { policy: 'static', cpusPerCore: 2 };
  const strict = (topologyManager: string) => ({ policy: 'static', topologyManager });
  const plainStatic = { policy: 'static' };
  const burstable: ContainerShape = { requests: { cpu: '3' } };

  test.each<[string, Partial<TopologyShape>, (string | ContainerShape)[], PodShape, string]>([
    ['whole cores, an odd request', { rules: wholeCores }, ['3'], {}, 'refused: node(s) give whole cores of 2 CPUs only'],
    ['whole cores, an odd container beside an even one', { rules: wholeCores }, ['2', '1'], {}, 'refused: node(s) give whole cores of 2 CPUs only'],
    ['whole cores, an odd sidecar', { rules: wholeCores }, ['2'], { init: [sidecar('1')] }, 'refused: node(s) give whole cores of 2 CPUs only'],
    ['whole cores, an even request', { rules: wholeCores }, ['4'], {}, 'node0: 4'],
    ['whole cores, an odd Burstable pod, which shares', { rules: wholeCores }, [burstable], {}, SHARES],
    ['a Burstable pod that is larger than the node', { rules: plainStatic }, [{ requests: { cpu: '99' } }], {}, SHARES],
    ['the same where any whole request gets CPUs', { rules: { policy: 'exclusive' } }, [burstable], {}, 'node0: 3'],
    ['whole cores, and a zone with an odd number free', { zones: ['7', '4'], rules: wholeCores }, ['10'], UNAWARE, 'node0: 6, node1: 4'],
    ['whole cores, of a policy that packs results', { rules: { ...wholeCores, policy: 'exclusive' } }, ['3'], {}, 'node0: 3'],
    ['whole cores of no number', { rules: { ...wholeCores, cpusPerCore: 'two' } }, ['3'], {}, 'node0: 3'],
    ['single-numa-node, an unaware pod', { rules: strict('single-numa-node') }, ['12'], UNAWARE, INSUFFICIENT],
    ['restricted, an unaware pod that is smaller than a zone', { zones: ['3', '3'], rules: strict('restricted') }, ['6'], UNAWARE, INSUFFICIENT],
    ['restricted, one that is larger than any zone', { rules: strict('restricted') }, ['12'], UNAWARE, 'node0: 8, node1: 4'],
    ['restricted, one that would lie in more zones than an idle node needs', { zones: ['5', '5', '5'], rules: strict('restricted') }, ['12'], UNAWARE, INSUFFICIENT],
    ['restricted, a container for each zone', { rules: strict('restricted') }, ['6', '6'], UNAWARE, 'node0: 6, node1: 6'],
    ['restricted, the same for a pod that is aligned as a whole', { rules: { ...strict('restricted'), scope: 'pod' } }, ['6', '6'], UNAWARE, 'node0: 8, node1: 4'],
    ['single-numa-node, the same for a pod that is aligned as a whole', { rules: { ...strict('single-numa-node'), scope: 'pod' } }, ['6', '6'], UNAWARE, INSUFFICIENT],
    ['best-effort, which refuses nothing', { rules: strict('best-effort') }, ['12'], UNAWARE, 'node0: 8, node1: 4'],
    ['an init container that needs more', { rules: plainStatic }, ['2'], { init: [guaranteed('16')] }, INSUFFICIENT],
    ['the same, of a pod that may lie in several zones', { rules: plainStatic }, ['2'], { init: [guaranteed('16')], ...UNAWARE }, 'node0: 8, node1: 8'],
    ['an init container that needs more than is free', { rules: plainStatic }, ['2'], { init: [guaranteed('17')], ...UNAWARE }, INSUFFICIENT],
    ['a sidecar beside the containers', { rules: plainStatic }, ['8'], { init: [sidecar('9')], ...UNAWARE }, INSUFFICIENT],
    ['the same where results are given to pods', { rules: { policy: 'exclusive' } }, ['8'], { init: [sidecar('9')] }, 'node0: 8'],
    ['the same without cpusetd', {}, ['8'], { init: [sidecar('9')] }, 'node0: 8'],
    ['single-numa-node, a zone with room for the sidecar too', { zones: ['7', '6'], rules: strict('single-numa-node') }, ['5'], { init: [sidecar('2')] }, 'node0: 7'],
    ['single-numa-node, no zone with room for the sidecar too', { zones: ['6', '6'], rules: strict('single-numa-node') }, ['5'], { init: [sidecar('2')] }, INSUFFICIENT],
  ])('given %s: expected as cpusetd decides', (_name, node, containers, pod, want) => {
    expect(show(fitPod(podOf(containers, pod), offerOf({ zones: ['8', '8'], ...node }), cpusOf()))).toBe(want);
  }); // prettier-ignore
});

describe('packing', () => {
  test.each<[string, number[], string, PodShape, string, string]>([
    // free CPUs, request, packed, spread
    ['an aware pod', [8, 3, 5], '3', {}, 'node1: 3', 'node0: 3'],
    ['an aware pod, equal zones', [8, 4, 4], '3', {}, 'node1: 3', 'node0: 3'],
    ['one zone where two would be filled', [8, 3, 3], '6', UNAWARE, 'node0: 6', 'node0: 6'],
    ['the best of single zones', [8, 6, 7], '6', UNAWARE, 'node1: 6', 'node0: 6'],
    ['the pair that is filled, not the largest zone', [8, 6, 3], '9', UNAWARE, 'node1: 6, node2: 3', 'node0: 8, node1: 1'],
    ['two zones, not three that are filled', [5, 4, 3, 2], '8', UNAWARE, 'node0: 5, node2: 3', 'node0: 5, node1: 3'],
    ['all that there is', [1, 2, 3], '6', UNAWARE, 'node0: 1, node1: 2, node2: 3', 'node0: 1, node1: 2, node2: 3'],
  ])('given %s: MostAllocated leaves large zones whole, LeastAllocated is upstream’s order', (_name, free, cpus, shape, packed, spread) => {
    const topology = offerOf({ zones: free.map(String) });
    const by = (strategy: 'MostAllocated' | 'LeastAllocated') =>
      show(fitPod(podOf([cpus], shape), topology, cpusOf(), strategy));
    expect([by('MostAllocated'), by('LeastAllocated')]).toEqual([packed, spread]);
  }); // prettier-ignore

  test('given so many zones that not all combinations are compared: the pod still fits', () => {
    const topology = offerOf({ zones: Array.from({ length: 40 }, () => '2') });
    const fit = fitPod(podOf(['61'], UNAWARE), topology, cpusOf(), 'MostAllocated');
    expect(fit).toMatchObject({ kind: 'fit', left: { free: 1_000 } });
  });
});

test('the shortage names the largest amount that the pod could get: of one zone, or of all together', () => {
  const topology = offerOf({ zones: ['7', '8'] });
  const obstacle = { kind: 'too-little', resource: 'cpu', wanted: 20_000, available: 8_000 };
  expect(fitPod(podOf(['20']), topology, cpusOf(2, 0))).toMatchObject({ obstacle });
  expect(fitPod(podOf(['20'], UNAWARE), topology, cpusOf(2, 0))).toMatchObject({
    obstacle: { ...obstacle, available: 13_000 },
  });
});

describe('properties', () => {
  const cases = fc.record({
    zones: fc.array(fc.integer({ min: 0, max: 20_000 }), { minLength: 1, maxLength: 9 }),
    used: fc.array(fc.integer({ min: 0, max: 25_000 }), { maxLength: 9 }),
    cpus: fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 3 }),
    isAware: fc.boolean(),
    strategy: fc.constantFrom('MostAllocated' as const, 'LeastAllocated' as const),
  });
  const amountsOf = (cpus: readonly number[]) => cpusOf(...cpus.map((milli) => milli / 1_000));

  test('a result sums up to the request, lies within the free CPUs of each zone, and is there whenever the pod fits', () => {
    fc.assert(
      fc.property(cases, ({ zones, used, cpus, isAware, strategy }) => {
        const topology = offerOf({ zones: zones.map((milli) => `${milli}m`), isAware });
        const pod = podOf(cpus.map(String));
        const wanted = cpus.reduce((sum, count) => sum + count, 0) * 1_000;
        const free = zones.map((milli, i) => Math.floor(Math.max(0, milli - (used[i] ?? 0)) / 1_000) * 1_000);
        const fit = fitPod(pod, topology, amountsOf(used), strategy);
        const enough = isAware ? free.some((milli) => milli >= wanted) : free.reduce((a, b) => a + b, 0) >= wanted;
        expect(fit.kind).toBe(enough ? 'fit' : 'no-fit');
        if (fit.kind !== 'fit') return;
        const given = readTopologyResult(formatTopologyResult(fit.grants));
        expect([...sumUse([given]).values()].reduce((sum, amounts) => sum + amounts.get('cpu')!, 0)).toBe(wanted);
        for (const [zone, amounts] of given)
          expect(amounts.get('cpu')).toBeLessThanOrEqual(free[Number(zone.slice(4))]!);
        if (isAware) expect(given.size).toBe(1);
        expect(scoreFit(fit)).toBe(Math.floor(100 / given.size));
      }),
      { numRuns: 2_000 },
    );
  });

  test('the same whatever the order of the zones in the object', () => {
    fc.assert(
      fc.property(cases, fc.infiniteStream(fc.nat()), ({ zones, used, cpus, isAware, strategy }, keys) => {
        const object = topologyObject({ zones: zones.map((milli) => `${milli}m`), isAware });
        const shuffled = object.zones
          .map((zone) => ({ zone, key: keys.next().value as number }))
          .sort((a, b) => a.key - b.key)
          .map(({ zone }) => zone);
        const fitIn = (object: object) =>
          fitPod(podOf(cpus.map(String)), readCraneOffer(object), amountsOf(used), strategy);
        expect(fitIn({ ...object, zones: shuffled })).toEqual(fitIn(object));
      }),
    );
  });

  test('packing takes no more zones than any other choice, and leaves no less free than it must', () => {
    fc.assert(
      fc.property(cases, ({ zones, used, cpus }) => {
        const topology = offerOf({ zones: zones.map((milli) => `${milli}m`), isAware: false });
        const by = (strategy: 'MostAllocated' | 'LeastAllocated') =>
          fitPod(podOf(cpus.map(String)), topology, amountsOf(used), strategy);
        const [packed, spread] = [by('MostAllocated'), by('LeastAllocated')];
        expect(packed.kind).toBe(spread.kind);
        if (packed.kind !== 'fit' || spread.kind !== 'fit') return;
        expect(packed.grants.length).toBeLessThanOrEqual(spread.grants.length);
        if (packed.grants.length === spread.grants.length)
          expect(packed.left.free).toBeLessThanOrEqual(spread.left.free);
      }),
    );
  });

  test('no JSON makes the readers throw, or a pod fit where it does not', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (first, second) => {
        for (const topology of [first, { metadata: { name: 'n' }, zones: first, attributes: second }])
          readCraneOffer(topology);
        const pod =
          readPodToPlace({ metadata: first, spec: { containers: second } }, ['cpu', 'memory']) ?? podOf(['1']);
        const node = readCraneOffer({ ...topologyObject({ zones: [] }), zones: second });
        expect(fitPod(pod, node, cpusOf()).kind).not.toBe('fit');
      }),
      { numRuns: 500 },
    );
  });
});

test('the format of the annotation is crane-scheduler’s', () => {
  const grants = [
    { zone: 'node0', amounts: new Map([['cpu', 2_000]]) },
    { zone: 'node1', amounts: new Map([['cpu', 1_500]]) },
  ];
  expect(formatTopologyResult(grants)).toBe(
    '[{"name":"node0","type":"Node","resources":{"capacity":{"cpu":"2"}}},' +
      '{"name":"node1","type":"Node","resources":{"capacity":{"cpu":"1500m"}}}]',
  );
  expect(formatTopologyResult([grants[0]!])).toBe(resultText({ node0: 2 }));
});

describe('the zones of an earlier answer', () => {
  const room = { cpus: { 0: 2, 1: 2 }, whole: { 0: 0, 1: 2 }, bound: 4 };
  const nodeOf = (rules: object) => {
    const object = topologyObject({ zones: ['2', '2'], isAware: false, rules: { policy: 'static', ...rules } });
    return readCraneOffer({ ...object, attributes: { ...object.attributes, 'cpusetd.io/room': JSON.stringify(room) } });
  };
  test.each<[string, object, number[], boolean]>([
    ['CPUs that are free', {}, [2], true],
    ['CPUs of two zones', {}, [1, 1], true],
    ['more than is free', {}, [3], false],
    ['CPUs that are no whole core, where whole cores are given', { cpusPerCore: 2 }, [2], false],
    ['a whole core', { cpusPerCore: 2 }, [0, 2], true],
    ['two zones, where a topology manager wants one', { topologyManager: 'single-numa-node' }, [1, 1], false],
    ['one zone there', { topologyManager: 'single-numa-node' }, [2], true],
  ])('given %s: they are kept, or not', (_name, rules, cpus, want) => {
    const zones = new Map([...cpusOf(...cpus)].filter(([, amounts]) => amounts.get('cpu')! > 0));
    expect(fitsInto(podOf(['2']), nodeOf(rules), new Map(), zones)).toBe(want);
  });
});

describe('a node that has published nothing', () => {
  const NO_TOPOLOGY = 'refused: node(s) failed to get NRT';
  const burstable: ContainerShape = { requests: { cpu: '2' } };
  test.each<[string, ContainerShape, PodShape, string]>([
    ['a Guaranteed pod', guaranteed('2'), {}, NO_TOPOLOGY],
    ['a Burstable pod with whole CPUs, which would share them', burstable, {}, SHARES],
    ['one that chooses a policy which pins it', burstable, { annotations: { [CPU_POLICY]: 'exclusive' } }, NO_TOPOLOGY],
    ['a Guaranteed pod that declines', guaranteed('2'), { annotations: { [CPU_POLICY]: 'none' } }, SHARES],
    ['a Guaranteed pod of a fraction', guaranteed('1500m'), {}, SHARES],
  ])('given %s: only pods that would get CPUs there are kept from it', (_name, container, shape, want) => {
    expect(show(fitPod(podOf([container], shape), undefined, new Map()))).toBe(want);
  });
});
