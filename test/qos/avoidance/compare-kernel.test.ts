import { compareWithKernel, whyNotOurs } from '../../../src/qos/avoidance/compare-kernel';
import type { ThrottleStep } from '../../../src/qos/avoidance/plan';
import type { Throttle } from '../../../src/qos/avoidance/situation';

const PERIOD = 100_000;
const throttleOf = (id: string, given: Partial<Throttle> = {}): Throttle => ({
  id,
  podUid: 'u',
  namespace: 'jobs',
  pod: id,
  container: 'main',
  periodUs: PERIOD,
  originalUs: 400_000,
  quotaUs: 200_000,
  previousUs: 400_000,
  causes: [],
  sinceMs: 0,
  ...given,
});
const stepOf = (id: string, fromUs: number, toUs: number): ThrottleStep => ({
  pod: { uid: 'u', namespace: 'jobs', name: id },
  container: 'main',
  id,
  fromUs,
  toUs,
  periodUs: PERIOD,
  rule: 'q/r',
  action: 'a',
  because: '',
});
const kernelOf =
  (quotas: Readonly<Record<string, number>>, periodUs = PERIOD) =>
  (id: string) =>
    quotas[id] === undefined ? undefined : { quotaUs: quotas[id], periodUs };

test.each`
  name                                       | kernel                         | want
  ${'it has the quota of the throttle'}      | ${kernelOf({ a: 200_000 })}    | ${undefined}
  ${'it has its original quota'}             | ${kernelOf({ a: 400_000 })}    | ${'it has its original quota already'}
  ${'it has the quota before the last step'} | ${kernelOf({ a: 300_000 })}    | ${undefined}
  ${'it has another quota'}                  | ${kernelOf({ a: 150_000 })}    | ${'someone else changed its quota'}
  ${'it has no quota'}                       | ${kernelOf({ a: -1 })}         | ${'someone else changed its quota'}
  ${'it has another period'}                 | ${kernelOf({ a: 200_000 }, 9)} | ${'someone else changed its period'}
  ${'it is gone, or can not be read'}        | ${kernelOf({})}                | ${undefined}
`('whyNotOurs: $name', ({ kernel, want }: { kernel: ReturnType<typeof kernelOf>; want: string | undefined }) => {
  expect(whyNotOurs(throttleOf('a', { previousUs: 300_000 }), kernel)).toBe(want);
});

describe('compareWithKernel', () => {
  const noted = [throttleOf('a'), throttleOf('b'), throttleOf('gone')];
  const lowered = throttleOf('a', { quotaUs: 100_000, previousUs: 200_000 });
  const raised = throttleOf('b', { quotaUs: 400_000, previousUs: 200_000 });
  const plan = {
    throttles: [stepOf('a', 200_000, 100_000)],
    restores: [stepOf('b', 200_000, 400_000)],
    throttled: [lowered, raised],
  };

  test('steps from the quota that the kernel has are kept, and so is the plan of what is throttled then', () => {
    const current = compareWithKernel(plan, { noted, kept: [], read: kernelOf({ a: 200_000, b: 200_000 }) });
    expect(current).toMatchObject({ throttles: plan.throttles, restores: plan.restores });
    expect(current.throttled).toEqual([lowered, raised]);
  });

  test('a step from another quota is left out, and its throttle stays as it was noted', () => {
    const current = compareWithKernel(plan, { noted, kept: [], read: kernelOf({ a: 150_000, b: 200_000 }) });
    expect([current.throttles, current.restores]).toEqual([[], plan.restores]);
    expect(current.throttled).toEqual([noted[0], raised]);
  });

  test('a throttle that the plan takes for ended stays while the kernel has it; one that it kept stays in any case', () => {
    const none = { throttles: [], restores: [], throttled: [] };
    const current = compareWithKernel(none, {
      noted,
      kept: [noted[2]!],
      read: kernelOf({ a: 200_000, b: 400_000 }),
    });
    expect(current.throttled.map(({ id }) => id)).toEqual(['gone', 'a']);
    // `b` has its original: what has restored it has recorded that.
    expect([...current.settled].sort()).toEqual(['jobs/a/main', 'jobs/b/main', 'jobs/gone/main']);
  });
});
