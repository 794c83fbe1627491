import type { QosContainer, QosPod } from '../../../src/qos/objects/objects';
import { planPodQuotas, type PodQuotaInput } from '../../../src/qos/reclaim/pod-quota';

const LABELS = {
  PodName: 'batch',
  PodNamespace: 'jobs',
  PodUid: 'uid-1',
  ContainerName: 'main',
  ContainerId: 'c1',
  HasExtRes: 'true',
};
const series = (value: number, atMs = 0, labels: Readonly<Record<string, string>> = LABELS) => [
  { labels, value, atMs },
];
type Changed = { readonly [K in keyof QosContainer]?: QosContainer[K] | undefined };
const podOf = (container: Changed = {}): QosPod => ({
  uid: 'uid-1',
  runtimeUid: 'uid-1',
  namespace: 'jobs',
  name: 'batch',
  labels: {},
  qos: 'BestEffort',
  priority: 0,
  isCritical: false,
  isStatic: false,
  phase: 'Running',
  isBeingDeleted: false,
  startedAtMs: 0,
  containers: [
    { name: 'main', elasticRequestMilliCpu: 2_000, elasticLimitMilliCpu: 2_000, ...container } as QosContainer,
  ],
});
const plan = (given: Partial<PodQuotaInput> & { quota?: number; period?: number }) =>
  planPodQuotas({
    pods: [podOf()],
    metrics: new Map([
      ['container_cpu_quota', series(given.quota ?? -1)],
      ['container_cpu_period', series(given.period ?? 100_000)],
    ]),
    nowMs: 0,
    maxAgeMs: 60_000,
    isPinned: () => false,
    isThrottled: () => false,
    ...given,
  });

test('a container without a quota gets that of its limit, and shares of its request', () => {
  expect(plan({})).toEqual([
    {
      containerId: 'c1',
      namespace: 'jobs',
      pod: 'batch',
      container: 'main',
      quotaUs: 200_000,
      periodUs: 100_000,
      shares: 2_048,
      because: 'its limit of gocrane.io/cpu is 2, and it had no quota: 200000 of 100000 µs',
    },
  ]);
});

test.each`
  name                                         | container                                                  | quota | period     | want
  ${'a quota of 0 is none'}                    | ${{}}                                                      | ${0}  | ${100_000} | ${[200_000, 2_048]}
  ${'another period'}                          | ${{}}                                                      | ${-1} | ${50_000}  | ${[100_000, 2_048]}
  ${'a period that is not known is the usual'} | ${{}}                                                      | ${-1} | ${0}       | ${[200_000, 2_048]}
  ${'a limit of a hundredth of a CPU'}         | ${{ elasticLimitMilliCpu: 10, elasticRequestMilliCpu: 1 }} | ${-1} | ${100_000} | ${[1_000, 2]}
  ${'a limit of a thousandth has the least'}   | ${{ elasticLimitMilliCpu: 1, elasticRequestMilliCpu: 1 }}  | ${-1} | ${100_000} | ${[1_000, 2]}
  ${'without a request the limit counts'}      | ${{ elasticRequestMilliCpu: undefined }}                   | ${-1} | ${100_000} | ${[200_000, 2_048]}
`('$name', ({ container, quota, period, want }) => {
  const [change] = plan({ pods: [podOf(container)], quota, period });
  expect([change?.quotaUs, change?.shares]).toEqual(want);
});

test.each`
  name                                   | given
  ${'its quota is right already'}        | ${{ quota: 200_000 }}
  ${'it has another quota'}              | ${{ quota: 50_000 }}
  ${'it is pinned'}                      | ${{ isPinned: (id: string) => id === 'c1' }}
  ${'it is throttled'}                   | ${{ isThrottled: (id: string) => id === 'c1' }}
  ${'it has a CPU limit'}                | ${{ pods: [podOf({ limitMilliCpu: 4_000 })] }}
  ${'it has no limit of gocrane.io/cpu'} | ${{ pods: [podOf({ elasticLimitMilliCpu: undefined })] }}
  ${'its limit is 0'}                    | ${{ pods: [podOf({ elasticLimitMilliCpu: 0 })] }}
  ${'its pod is not known'}              | ${{ pods: [] }}
  ${'its name is not known'}             | ${{ pods: [podOf({ name: 'other' })] }}
  ${'its figures are old'}               | ${{ nowMs: 60_001 }}
  ${'the series is of the pod itself'}   | ${{ metrics: new Map([['container_cpu_quota', series(-1, 0, { ...LABELS, ContainerId: '' })]]) }}
`('it is left alone: $name', ({ given }) => {
  expect(plan(given)).toEqual([]);
});

test('a static pod is found by the uid that the runtime knows', () => {
  const pods = [{ ...podOf(), uid: 'uid-mirror', runtimeUid: 'uid-1' }];
  expect(plan({ pods }).map(({ containerId }) => containerId)).toEqual(['c1']);
});
