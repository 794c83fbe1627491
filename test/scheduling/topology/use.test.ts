import fc from 'fast-check';
import { parseTopologyResult } from '../../../src/core/annotations/topology-result';
import { formatClaims, readClaims } from '../../../src/kube';
import { sumUse, type Fit } from '../../../src/core/fit';
import { hasRoomFor } from '../../../src/core/fit/node-offer';
import { scoreFit, scoreWholeCpus } from '../../../src/scheduling/topology/score-fit';
import {
  cpusOf,
  guaranteed,
  offerOf,
  plain,
  podObject,
  RESULT,
  resultText,
  sidecar,
  usedBy,
  type ContainerShape,
  type PodShape,
} from './objects';

describe('the amounts that a bound pod takes', () => {
  const zoneOfType = (type: string) => JSON.stringify([{ name: 'node0', type, resources: { capacity: { cpu: '2' } } }]);
  const useOf = (containers: readonly (string | ContainerShape)[], result: string, shape: PodShape = {}) => {
    const use = usedBy(podObject(containers, { ...shape, annotations: { [RESULT]: result } }));
    return use && plain(use);
  };

  test.each<[string, string, (string | ContainerShape)[], PodShape, Record<string, number> | undefined]>([
    ['its result', resultText({ node0: 2 }), ['2'], {}, { node0: 2_000 }],
    ['two zones', resultText({ node0: 1, node1: '1000m' }), ['2'], {}, { node0: 1_000, node1: 1_000 }],
    ['no request', resultText({ node0: 1_000 }), [{ requests: {} }], {}, undefined],
    ['a forged number', resultText({ node0: 1_000 }), ['2'], {}, { node0: 2_000 }],
    ['forged numbers in several zones, of which cpusetd subtracts what is held beyond', resultText({ node0: 9, node1: 9 }), ['2'], {}, { node0: 2_000, node1: 2_000 }],
    ['a request that shares', resultText({ node0: 9 }), [{ requests: { cpu: '500m' }, limits: {} }], {}, { node0: 500 }],
    ['containers together', resultText({ node0: 9 }), ['2', '3'], {}, { node0: 5_000 }],
    ['sidecars beside them', resultText({ node0: 9 }), ['2'], { init: [sidecar('1')] }, { node0: 3_000 }],
    ['a larger init container', resultText({ node0: 9 }), ['2'], { init: [guaranteed('4'), guaranteed('1')] }, { node0: 4_000 }],
    ['an init container after a sidecar', resultText({ node0: 9 }), ['2'], { init: [sidecar('1'), guaranteed('4')] }, { node0: 5_000 }],
    ['another type of zone', zoneOfType('Socket'), ['2'], {}, undefined],
    ['the type of zone that counts', zoneOfType('Node'), ['2'], {}, { node0: 2_000 }],
    ['an empty list', '[]', ['2'], {}, undefined],
    ['no JSON', '{', ['2'], {}, undefined],
    ['a negative amount', resultText({ node0: '-1' }), ['2'], {}, undefined],
    ['an amount that is no quantity', resultText({ node0: 'all' }), ['2'], {}, undefined],
    ['a text of 20,000 characters', resultText(Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`node${i}`, 1]))), ['2'], {}, undefined],
  ])('given %s: at most the request of the pod counts in each zone', (_name, result, containers, shape, want) => {
    const expected = want && Object.fromEntries(Object.entries(want).map(([zone, cpu]) => [zone, { cpu }]));
    expect(useOf(containers, result, shape)).toEqual(expected);
  }); // prettier-ignore

  test('given resources of the whole pod: they count', () => {
    const pod = podObject([{ requests: {} }], { annotations: { [RESULT]: resultText({ node0: 9 }) } });
    const use = usedBy({ ...pod, spec: { ...pod.spec, resources: { requests: { cpu: '3' } } } });
    expect(use && plain(use)).toEqual({ node0: { cpu: 3_000 } });
  });

  test('given other resources in the result: each is bounded by its own request', () => {
    const zone = { cpu: '2', memory: '1Ti', 'example.com/gpu': '8' };
    const result = JSON.stringify([{ name: 'node0', type: 'Node', resources: { capacity: zone } }]);
    expect(useOf(['2'], result)).toEqual({ node0: { cpu: 2_000, memory: 2 ** 30 } });
  });

  test('given no annotation: nothing', () => {
    expect(usedBy(podObject(['2']))).toBeUndefined();
  });

  test('given any CPUs that cpusetd counts as announced: no fewer count here', () => {
    const amounts = fc.constantFrom('0', '1', '2', '7', '2000m', '1500m', '-1', 'x');
    const zones = fc.array(fc.tuple(fc.constantFrom('node0', 'node1', 'node01', 'xode0'), amounts), { maxLength: 4 });
    fc.assert(
      fc.property(zones, fc.constantFrom('500m', '1', '2', '4'), (list, cpu) => {
        const capacities = list.map(([name, amount]) => ({
          name,
          type: 'Node',
          resources: { capacity: { cpu: amount } },
        }));
        const result = JSON.stringify(capacities);
        const parsed = parseTopologyResult(result);
        const announced = parsed.ok ? [...parsed.announced] : [];
        const most = Math.floor(parseFloat(cpu) * (cpu.endsWith('m') ? 1 : 1_000)) / 1_000;
        const use = useOf([cpu], result) ?? {};
        for (const [node, count] of announced)
          expect(use[`node${node}`]?.['cpu'] ?? 0).toBeGreaterThanOrEqual(Math.min(count, Math.floor(most)) * 1_000);
      }),
    );
  });
});

describe('claims in the annotation of a node', () => {
  const claim = {
    pod: 'default/db',
    zones: new Map([['node0', new Map([['cpu', 1_500], ['memory', 7]])]]), // prettier-ignore
    atMs: 1_700_000_000_000,
  };

  test('are read as they were written', () => {
    const text = formatClaims(new Map([['u', claim]]))!;
    expect(JSON.parse(text)).toEqual({
      u: { pod: 'default/db', zones: { node0: { cpu: '1500m', memory: '7' } }, at: '2023-11-14T22:13:20.000Z' },
    });
    expect(readClaims({ 'cpusetd.io/assumed-pods': text })).toEqual(new Map([['u', claim]]));
  });

  test('without any, the annotation is removed', () => expect(formatClaims(new Map())).toBeNull());

  test.each(['', '{', '[]', '7', '{"u":7}', '{"u":{"zones":7,"at":"yesterday"}}', ' '.repeat(300_000)])(
    'given %j: no claim takes anything',
    (text) => {
      const claims = readClaims({ 'cpusetd.io/assumed-pods': text });
      expect(plain(sumUse([...claims.values()].map(({ zones }) => zones)))).toEqual({});
    },
  );

  test.each<[string, number[], boolean]>([
    ['free CPUs', [2, 2], true],
    ['as many as are free', [4, 4], true],
    ['one too few in a zone', [5, 2], false],
  ])('given %s: a claim of 4 and 4 CPUs has room or not', (_name, used, want) => {
    expect(hasRoomFor(offerOf({ zones: ['8', '8'] }), cpusOf(...used), cpusOf(4, 4))).toBe(want);
  });

  test('a claim of a zone that the node has no more has no room', () => {
    expect(hasRoomFor(offerOf({ zones: ['8'] }), cpusOf(), cpusOf(1, 1))).toBe(false);
  });
});

describe('scores', () => {
  const fitWith = (free: number, allocatable: number, zones = 1): Fit => ({
    kind: 'fit',
    grants: Array.from({ length: zones }, (_, i) => ({ zone: `node${i}`, amounts: new Map([['cpu', 1_000]]) })),
    left: { free: free * 1_000, allocatable: allocatable * 1_000 },
  });
  const skipped: Fit = { kind: 'skip', because: '' };
  const refused: Fit = { kind: 'no-fit', obstacle: { kind: 'no-topology' } };

  test.each<[Fit, number]>([
    [fitWith(0, 8), 100],
    [fitWith(0, 8, 3), 33],
    [fitWith(0, 8, 8), 12],
    [{ ...fitWith(0, 8), grants: [] } as Fit, 0],
    [skipped, 0],
    [refused, 0],
  ])('given %j: by the number of zones, as upstream', (fit, want) => expect(scoreFit(fit)).toBe(want));

  test.each<[string, Fit, number, number]>([
    ['a zone that is full afterwards', fitWith(0, 8), 100, 0],
    ['a quarter left', fitWith(2, 8), 75, 25],
    ['all left', fitWith(8, 8), 0, 100],
    ['two zones with a third left', fitWith(4, 12, 2), 67, 33],
    ['more left than allocatable, which a node may publish for a moment', fitWith(9, 8), 0, 100],
    ['zones that do not matter', skipped, 0, 0],
    ['a pod that does not fit', refused, 0, 0],
  ])('given %s: by the CPUs that are left', (_name, fit, packed, spread) => {
    const by = (strategy: 'MostAllocated' | 'LeastAllocated') => scoreWholeCpus(fit, { strategy });
    expect([by('MostAllocated'), by('LeastAllocated')]).toEqual([packed, spread]);
  });
});
