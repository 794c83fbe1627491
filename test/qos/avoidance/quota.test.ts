import { isSameQuota, lowerQuota, raiseQuota, UNLIMITED } from '../../../src/qos/avoidance/quota';

interface Row {
  readonly quota: number;
  readonly use?: number;
  readonly base?: number;
  readonly request?: number;
  readonly limit?: number;
  readonly elastic?: number;
  readonly period?: number;
}

function viewOf({ quota, use, base, request, limit, elastic, period = 100_000 }: Row) {
  return {
    quotaUs: quota,
    periodUs: period,
    ...(use !== undefined && { milliCpu: use }),
    ...(base !== undefined && { baseMilliCpu: base }),
    spec: {
      name: 'main',
      ...(request !== undefined && { requestMilliCpu: request }),
      ...(limit !== undefined && { limitMilliCpu: limit }),
      ...(elastic !== undefined && { elasticLimitMilliCpu: elastic }),
    },
  };
}

test.each`
  name                                              | row                                                         | step   | min   | want
  ${'takes the step from the quota'}                | ${{ quota: 200_000, limit: 2000, use: 1900 }}               | ${10}  | ${50} | ${180_000}
  ${'takes it from the use below such a step'}      | ${{ quota: 200_000, limit: 2000, use: 1500 }}               | ${10}  | ${50} | ${135_000}
  ${'takes it from the use at such a step'}         | ${{ quota: 200_000, limit: 2000, use: 1800 }}               | ${10}  | ${50} | ${162_000}
  ${'takes the step from the use without a quota'}  | ${{ quota: -1, use: 1500 }}                                 | ${10}  | ${50} | ${135_000}
  ${'rounds to whole microseconds'}                 | ${{ quota: 33_333, limit: 400, use: 330 }}                  | ${10}  | ${50} | ${30_000}
  ${'stops at the request'}                         | ${{ quota: 200_000, limit: 2000, request: 1900 }}           | ${10}  | ${50} | ${190_000}
  ${'stops at the share of the limit, as per cent'} | ${{ quota: 110_000, limit: 2000 }}                          | ${20}  | ${50} | ${100_000}
  ${'stops at the share of the first use'}          | ${{ quota: 90_000, use: 890, base: 1600 }}                  | ${20}  | ${50} | ${80_000}
  ${'takes the use now as first use'}               | ${{ quota: -1, use: 1000 }}                                 | ${80}  | ${50} | ${50_000}
  ${'stops at 10 milli-CPU without a limit'}        | ${{ quota: 200_000, use: 11, period: 200_000 }}             | ${100} | ${50} | ${2000}
  ${'stops at the least quota of the kernel'}       | ${{ quota: 5000, limit: 50, period: 10_000 }}               | ${100} | ${0}  | ${1000}
  ${'rounds a minimum up'}                          | ${{ quota: 9999, limit: 3000, request: 333, period: 3334 }} | ${95}  | ${0}  | ${1111}
  ${'needs no use where there are limit and quota'} | ${{ quota: 200_000, limit: 2000 }}                          | ${10}  | ${50} | ${180_000}
  ${'counts an exact change of 1 %'}                | ${{ quota: 200_000, limit: 2000 }}                          | ${1}   | ${50} | ${198_000}
  ${'skips less than 1 %'}                          | ${{ quota: 200_000, limit: 2000, request: 1981 }}           | ${10}  | ${50} | ${'a step from its quota of 200000 us to 198100 us is less than 1 %'}
  ${'skips a step of nothing'}                      | ${{ quota: 200_000, limit: 2000 }}                          | ${0}   | ${50} | ${'a step from its quota of 200000 us to 200000 us is less than 1 %'}
  ${'skips a quota at its minimum'}                 | ${{ quota: 100_000, limit: 2000, request: 1000 }}           | ${10}  | ${0}  | ${'its quota of 100000 us is not above its minimum, its request of 1000 milli-CPU'}
  ${'does not raise a quota below the minimum'}     | ${{ quota: 50_000, limit: 2000, request: 1000 }}            | ${10}  | ${0}  | ${'its quota of 50000 us is not above its minimum, its request of 1000 milli-CPU'}
  ${'takes no quota that is above the use'}         | ${{ quota: -1, use: 300, request: 1000 }}                   | ${10}  | ${0}  | ${'its use of 30000 us is not above its minimum, its request of 1000 milli-CPU'}
  ${'leaves an idle container alone'}               | ${{ quota: -1, use: 0 }}                                    | ${10}  | ${0}  | ${"its use of 0 us is not above its minimum, the kernel's least quota of 1000 us"}
  ${'leaves one alone that has a quota'}            | ${{ quota: 50_000, limit: 500, use: 0 }}                    | ${20}  | ${10} | ${'its use of 0 us is not above its minimum, 10 % of its limit of 500 milli-CPU'}
  ${'leaves one alone that uses its minimum'}       | ${{ quota: 100_000, limit: 1000, use: 790 }}                | ${30}  | ${80} | ${'its use of 79000 us is not above its minimum, 80 % of its limit of 1000 milli-CPU'}
  ${'skips an unknown use without a quota'}         | ${{ quota: -1, limit: 2000 }}                               | ${10}  | ${50} | ${'it has no quota and its use is unknown'}
  ${'skips an unknown use without a limit'}         | ${{ quota: 50_000, elastic: 500 }}                          | ${10}  | ${50} | ${'it has no CPU limit and its use is unknown'}
`('lowerQuota $name', ({ row, step, min, want }: { row: Row; step: number; min: number; want: number | string }) => {
  const lowered = lowerQuota(viewOf(row), { step, min });
  expect('because' in lowered ? lowered.because : lowered.toUs).toBe(want);
});

test.each`
  name                                         | row                                               | step  | original   | want
  ${'takes the step from the quota'}           | ${{ quota: 100_000, limit: 2000 }}                | ${10} | ${200_000} | ${110_000}
  ${'stops at the original'}                   | ${{ quota: 190_000, limit: 2000 }}                | ${10} | ${200_000} | ${200_000}
  ${'takes 1 % at least'}                      | ${{ quota: 100_000, limit: 2000 }}                | ${0}  | ${200_000} | ${101_000}
  ${'goes to the request at least'}            | ${{ quota: 100_000, limit: 2000, request: 1500 }} | ${10} | ${200_000} | ${150_000}
  ${'goes on without an original quota'}       | ${{ quota: 100_000 }}                             | ${10} | ${-1}      | ${110_000}
  ${'has no quota again at the limit'}         | ${{ quota: 190_000, limit: 2000 }}                | ${10} | ${-1}      | ${UNLIMITED}
  ${'has no quota again at the elastic limit'} | ${{ quota: 190_000, elastic: 2000 }}              | ${10} | ${-1}      | ${UNLIMITED}
  ${'keeps a quota at 60 CPUs'}                | ${{ quota: 5_000_000 }}                           | ${20} | ${-1}      | ${6_000_000}
  ${'has no quota again above 60 CPUs'}        | ${{ quota: 5_000_100 }}                           | ${20} | ${-1}      | ${UNLIMITED}
`('raiseQuota $name', ({ row, step, original, want }: { row: Row; step: number; original: number; want: number }) => {
  expect(raiseQuota(viewOf(row), step, original)).toBe(want);
});

test.each`
  kernel     | remembered | period     | want
  ${200_000} | ${200_000} | ${100_000} | ${true}
  ${200_001} | ${200_000} | ${100_000} | ${false}
  ${199_000} | ${198_500} | ${100_000} | ${true}
  ${198_000} | ${198_500} | ${100_000} | ${false}
  ${-1}      | ${198_500} | ${100_000} | ${false}
  ${198_500} | ${-1}      | ${100_000} | ${false}
  ${-1}      | ${-1}      | ${100_000} | ${true}
`(
  'isSameQuota allows what systemd rounds up: the kernel has $kernel, remembered are $remembered',
  ({ kernel, remembered, period, want }: { kernel: number; remembered: number; period: number; want: boolean }) => {
    expect(isSameQuota(kernel, remembered, period)).toBe(want);
  },
);
