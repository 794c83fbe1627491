import { inferCpuRequest } from '../../../src/core/inference/infer-cpu-request';
import type { ContainerInfo, CpuResources, PodInfo } from '../../../src/core/model/events';

const UID = '8f3c1a52-0f7e-4d0e-9b0e-1c2d3e4f5a6b';
const GUARANTEED = `/kubepods/pod${UID}`;
const BURSTABLE = `/kubepods/burstable/pod${UID}`;
const GiB = 1024 ** 3;

interface Seen extends CpuResources {
  readonly parent?: string;
  readonly oom?: number;
  readonly podShares?: number;
}

/** The numbers of a container that asks for `cpus` and is limited to them, with what the row changes. */
function infer(cpus: number, seen: Seen = {}) {
  const { parent = GUARANTEED, oom = -997, podShares, ...resources } = seen;
  const pod: PodInfo = {
    sandboxId: 'sandbox',
    uid: UID,
    namespace: 'default',
    name: 'pod',
    annotations: {},
    cgroupParent: parent,
    ...(podShares !== undefined && { podResources: { shares: podShares } }),
  };
  const container: ContainerInfo = {
    id: 'container',
    sandboxId: 'sandbox',
    name: 'app',
    phase: 'creating',
    cgroupsPath: '',
    resources: { shares: cpus * 1024, quotaUs: cpus * 100_000, periodUs: 100_000, memoryLimitBytes: GiB, ...resources },
    oomScoreAdj: oom,
  };
  return inferCpuRequest(pod, container);
}

test.each`
  name                                                              | cpus   | seen                                              | want
  ${'two whole CPUs in a Guaranteed pod are exclusive'}             | ${2}   | ${{}}                                             | ${'exclusive 2'}
  ${'the smallest whole number of CPUs is one'}                     | ${1}   | ${{}}                                             | ${'exclusive 1'}
  ${'the largest count that shares can express is 255'}             | ${255} | ${{}}                                             | ${'exclusive 255'}
  ${'a: no CPU request has the lowest shares'}                      | ${2}   | ${{ shares: 2 }}                                  | ${'shared'}
  ${'a: shares that are not set are no request'}                    | ${2}   | ${{ shares: undefined }}                          | ${'shared'}
  ${'b: 256 CPUs follow from the quota, shares are at their bound'} | ${256} | ${{}}                                             | ${'exclusive 256'}
  ${'b: 300 CPUs follow from the quota too'}                        | ${300} | ${{ shares: 262144 }}                             | ${'exclusive 300'}
  ${'b: a pod’s sum at the bound does not contradict 300 either'}   | ${300} | ${{ shares: 307200, podShares: 262144 }}          | ${'exclusive 300'}
  ${'b: 300.5 CPUs are not whole'}                                  | ${300} | ${{ shares: 262144, quotaUs: 30_050_000 }}        | ${'shared'}
  ${'b: without a quota shares at their bound decide nothing'}      | ${256} | ${{ quotaUs: 0, periodUs: 0 }}                    | ${'shared undecidable'}
  ${'b: shares at their bound cannot go with a quota of 4 CPUs'}    | ${256} | ${{ quotaUs: 400_000 }}                           | ${'shared contradiction'}
  ${'b: a lifted quota at the bound is a conflict, not a guess'}    | ${256} | ${{ quotaUs: -1 }}                                | ${'conflict kubelet-cpu-manager'}
  ${'c: with CFS quota off shares suffice'}                         | ${4}   | ${{ quotaUs: 0, periodUs: 0 }}                    | ${'exclusive 4'}
  ${'c: quota and period may be absent altogether'}                 | ${4}   | ${{ quotaUs: undefined, periodUs: undefined }}    | ${'exclusive 4'}
  ${'d: a quota of -1 shows that the kubelet pins as well'}         | ${2}   | ${{ quotaUs: -1 }}                                | ${'conflict kubelet-cpu-manager'}
  ${'d: a quota of -1 with a fraction of a CPU is not exclusive'}   | ${2}   | ${{ shares: 1536, quotaUs: -1 }}                  | ${'shared'}
  ${'e: Burstable with whole and equal CPU is shared'}              | ${2}   | ${{ parent: BURSTABLE, oom: 500 }}                | ${'shared'}
  ${'f: 1500m beside exclusive siblings is shared'}                 | ${2}   | ${{ shares: 1536, quotaUs: 150_000 }}             | ${'shared'}
  ${'f: 999m is not one CPU'}                                       | ${1}   | ${{ shares: 1022, quotaUs: 99_900 }}              | ${'shared'}
  ${'f: 1001m is not one CPU'}                                      | ${1}   | ${{ shares: 1025, quotaUs: 100_100 }}             | ${'shared'}
  ${'g: a limit above the request contradicts Guaranteed'}          | ${2}   | ${{ quotaUs: 400_000 }}                           | ${'shared contradiction'}
  ${'g: a limit below the request contradicts as well'}             | ${4}   | ${{ quotaUs: 200_000 }}                           | ${'shared contradiction'}
  ${'h: an init container looks like an app container'}             | ${2}   | ${{ podShares: 2048 }}                            | ${'exclusive 2'}
  ${'i: pod-level resources, no own request'}                       | ${4}   | ${{ shares: 2 }}                                  | ${'shared'}
  ${'i: pod-level resources, the limit is the pod’s'}               | ${2}   | ${{ quotaUs: 400_000, podShares: 4096 }}          | ${'shared contradiction'}
  ${'i: no memory limit of its own: the message has the pod’s'}     | ${2}   | ${{ memoryLimitBytes: 4 * GiB, podShares: 4096 }} | ${'exclusive 2'}
  ${'i: no memory limit in the message'}                            | ${2}   | ${{ memoryLimitBytes: 0 }}                        | ${'shared contradiction'}
  ${'i: a memory limit that is not set'}                            | ${2}   | ${{ memoryLimitBytes: undefined }}                | ${'shared contradiction'}
  ${'j: an ephemeral container has no resources'}                   | ${2}   | ${{ shares: 2, quotaUs: 0, memoryLimitBytes: 0 }} | ${'shared'}
  ${'k: overhead of the sandbox makes the pod sum no smaller'}      | ${2}   | ${{ podShares: 2304 }}                            | ${'exclusive 2'}
  ${'l: limits only look like equal requests'}                      | ${3}   | ${{}}                                             | ${'exclusive 3'}
  ${'m: after a resize the same numbers decide again'}              | ${5}   | ${{}}                                             | ${'exclusive 5'}
  ${'n: another period is divided by'}                              | ${2}   | ${{ quotaUs: 10_000, periodUs: 5000 }}            | ${'exclusive 2'}
  ${'n: a quota without a period is per default period'}            | ${2}   | ${{ periodUs: 0 }}                                | ${'exclusive 2'}
  ${'n: the default period does not fit another period'}            | ${2}   | ${{ periodUs: 50_000 }}                           | ${'shared contradiction'}
  ${'o: shares raised by another plugin do not fit the quota'}      | ${2}   | ${{ shares: 4096 }}                               | ${'shared contradiction'}
  ${'o: shares raised with quotas off do not fit the pod'}          | ${4}   | ${{ quotaUs: 0, periodUs: 0, podShares: 2048 }}   | ${'shared contradiction'}
  ${'o: a pod at the bound of shares contradicts no container'}     | ${300} | ${{ shares: 262144, podShares: 262144 }}          | ${'exclusive 300'}
  ${'o: a missing pod sum contradicts no container'}                | ${2}   | ${{ podShares: 0 }}                               | ${'exclusive 2'}
  ${'p: OOM score -997 without a cgroup parent proves nothing'}     | ${2}   | ${{ parent: '' }}                                 | ${'shared undecidable'}
  ${'p: a node-critical Burstable pod is Burstable by its parent'}  | ${2}   | ${{ parent: BURSTABLE }}                          | ${'shared'}
  ${'without a parent OOM score 1000 means BestEffort'}             | ${2}   | ${{ parent: '/custom', oom: 1000 }}               | ${'shared'}
  ${'without a parent its OOM score means Burstable'}               | ${2}   | ${{ parent: '/custom', oom: 3 }}                  | ${'shared'}
  ${'an unusual OOM score decides nothing'}                         | ${2}   | ${{ parent: '/custom', oom: 0 }}                  | ${'shared undecidable'}
`('$name', ({ cpus, seen, want }: { cpus: number; seen: Seen; want: string }) => {
  const request = infer(cpus, seen);
  const detail = { exclusive: 'count', shared: 'doubt', conflict: 'manager' }[request.kind];
  const value = (request as unknown as Record<string, string | number | undefined>)[detail];
  expect(value === undefined ? request.kind : `${request.kind} ${value}`).toBe(want);
});

test('a contradiction is explained with the numbers that disagree', () => {
  expect(infer(2, { quotaUs: 400_000 }).because).toBe(
    'CPU shares stand for 2 CPUs, but the quota is 400000 µs per 100000 µs: request and limit differ, ' +
      'as with resources of the pod as a whole',
  );
});
