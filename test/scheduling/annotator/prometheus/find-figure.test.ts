import fc from 'fast-check';
import { FigureFinder } from '../../../../src/scheduling/annotator/prometheus/find-figure';
import { parseAnswer, type Series } from '../../../../src/scheduling/annotator/prometheus/parse-answer';

const series = (instance: string, value = '0.5', job = ''): Series => ({ instance, job, timeMs: 1_000, value });
const ratio = (value: number): object => ({ kind: 'ratio', ratio: value, timeMs: 1_000 });
const node = { name: 'n1', address: '10.0.0.1' };

test.each`
  given                              | instances                                      | address       | want
  ${'the IP'}                        | ${['10.0.0.1']}                                | ${'10.0.0.1'} | ${0}
  ${'the IP with a port'}            | ${['10.0.0.1:9100']}                           | ${'10.0.0.1'} | ${0}
  ${'the name'}                      | ${['n1']}                                      | ${'10.0.0.1'} | ${0}
  ${'the name with a port'}          | ${['n1:9100']}                                 | ${'10.0.0.1'} | ${-1}
  ${'the name with a port, no IP'}   | ${['n1:9100']}                                 | ${'n1'}       | ${0}
  ${'IP before IP with a port'}      | ${['10.0.0.1:9100', '10.0.0.1']}               | ${'10.0.0.1'} | ${1}
  ${'IP with a port before name'}    | ${['n1', '10.0.0.1:9100']}                     | ${'10.0.0.1'} | ${1}
  ${'an IP that only looks like it'} | ${['10.0.0.11', '10x0.0.1', '110.0.0.1:9100']} | ${'10.0.0.1'} | ${-1}
  ${'IPv6 with a port'}              | ${['[fd00::1]:9100']}                          | ${'fd00::1'}  | ${0}
  ${'IPv6 alone'}                    | ${['fd00::1']}                                 | ${'fd00::1'}  | ${0}
  ${'another IPv6'}                  | ${['[fd00::1]:9100']}                          | ${'fd00'}     | ${-1}
  ${'no series'}                     | ${[]}                                          | ${'10.0.0.1'} | ${-1}
`(
  'given $given in $instances for $address: the series with index $want counts (IP as regex, fault of upstream)',
  ({ instances, address, want }: { instances: string[]; address: string; want: number }) => {
    const finder = new FigureFinder(instances.map((instance, index) => series(instance, `0.${index}`)));
    expect(finder.find({ name: 'n1', address })).toEqual(want < 0 ? { kind: 'none' } : ratio(want / 10));
  },
);

test.each`
  value                   | want
  ${'0.3125'}             | ${0.3125}
  ${'1.2'}                | ${1.2}
  ${'1e-05'}              | ${0.00001}
  ${'5E+2'}               | ${500}
  ${'0'}                  | ${0}
  ${'-0.3'}               | ${0}
  ${'1000'}               | ${1000}
  ${'1000.1'}             | ${'"1000.1"'}
  ${'1e308'}              | ${'"1e308"'}
  ${'-1'}                 | ${'"-1"'}
  ${'-1e300'}             | ${'"-1e300"'}
  ${'NaN'}                | ${'"NaN"'}
  ${'+Inf'}               | ${'"+Inf"'}
  ${'-Inf'}               | ${'"-Inf"'}
  ${'1e999'}              | ${'"1e999"'}
  ${''}                   | ${'""'}
  ${'0x10'}               | ${'"0x10"'}
  ${'0.1 '}               | ${'"0.1 "'}
  ${'0.1,0.2'}            | ${'"0.1,0.2"'}
  ${'<script>'.repeat(9)} | ${JSON.stringify('<script>'.repeat(9).slice(0, 50))}
`(
  'given the value $value: $want (+Inf is written, and NaN as 0, faults of upstream)',
  ({ value, want }: { value: string; want: unknown }) => {
    const found = new FigureFinder([series('10.0.0.1', value)]).find(node);
    if (typeof want === 'number') expect(found).toEqual(ratio(want));
    else
      expect(found).toEqual({
        kind: 'fault',
        because: `the series of 10.0.0.1 has the value ${String(want)}, which is no load of a node`,
      });
  },
);

test('given several series of a node: a fault that names their instances and jobs (last series wins, fault of upstream)', () => {
  const finder = new FigureFinder([
    series('10.0.0.1:9100', '0.1', 'a'),
    series('10.0.0.1:9200'),
    series('10.0.0.2:9100'),
  ]);
  expect(finder.find(node)).toEqual({
    kind: 'fault',
    because: '2 series are of this node: 10.0.0.1:9100 (a), 10.0.0.1:9200',
  });
  expect(finder.find({ name: 'n2', address: '10.0.0.2' })).toEqual(ratio(0.5));
});

test('given very many series of a node: the fault names the first five', () => {
  const finder = new FigureFinder(Array.from({ length: 1_000 }, (_, port) => series(`10.0.0.1:${port}`)));
  expect(finder.find(node)).toMatchObject({ because: expect.stringMatching(/^1000 series.*:4 and 995 more$/) });
});

test('given a series without a time: a fault', () => {
  expect(new FigureFinder([{ ...series('10.0.0.1'), timeMs: NaN }]).find(node)).toMatchObject({ kind: 'fault' });
});

test('given any JSON for an answer: it is read without an exception, and no ratio is negative or infinite', () => {
  const value = fc.oneof(fc.string(), fc.double().map(String), fc.constantFrom('NaN', '+Inf', '-Inf', '1e400'));
  const entry = fc.oneof(
    fc.jsonValue(),
    fc.record({
      metric: fc.record({ instance: fc.constantFrom('10.0.0.1', '10.0.0.1:1', 'n1') }),
      value: fc.tuple(fc.oneof(fc.double(), fc.constant(1.5)), value),
    }),
  );
  const answer = fc.oneof(
    fc.jsonValue(),
    fc.record({
      status: fc.constant('success'),
      data: fc.record({ resultType: fc.constant('vector'), result: fc.array(entry) }),
    }),
  );
  fc.assert(
    fc.property(answer, (given) => {
      const result = parseAnswer(200, JSON.stringify(given));
      if (!result.ok) return expect(result.because).not.toBe('');
      const found = new FigureFinder(result.series).find(node);
      if (found.kind === 'ratio') expect(found.ratio >= 0 && found.ratio < Infinity).toBe(true);
      return undefined;
    }),
    { numRuns: 2_000 },
  );
});
