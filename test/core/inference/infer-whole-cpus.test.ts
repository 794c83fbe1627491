import { inferWholeCpus } from '../../../src/core/inference/infer-whole-cpus';
import type { CpuResources } from '../../../src/core/model/events';
import { podOf } from '../transition/node-driver';

const BURSTABLE = '/kubepods/burstable/podp';

function infer(resources: CpuResources, cgroupParent = BURSTABLE): string {
  const container = { id: 'c', sandboxId: 's', name: 'c', phase: 'creating', cgroupsPath: '', resources } as const;
  const request = inferWholeCpus({ ...podOf('p'), cgroupParent }, container);
  return request.kind === 'exclusive' ? `whole ${request.count}` : request.because;
}

const cpus = (request: number, limit = request): CpuResources => ({
  shares: Math.min(request * 1024, 262_144),
  quotaUs: limit * 100_000,
  periodUs: 100_000,
});

test.each`
  name                                               | resources                                            | parent              | want
  ${'request = limit, in a Burstable pod'}           | ${cpus(2)}                                           | ${BURSTABLE}        | ${'whole 2'}
  ${'in a Guaranteed pod'}                           | ${cpus(2)}                                           | ${'/kubepods/podp'} | ${'whole 2'}
  ${'with an unknown QoS class'}                     | ${cpus(2)}                                           | ${''}               | ${'whole 2'}
  ${'without a memory limit'}                        | ${{ ...cpus(1), memoryLimitBytes: 0 }}               | ${BURSTABLE}        | ${'whole 1'}
  ${'another period'}                                | ${{ ...cpus(2), quotaUs: 20_000, periodUs: 10_000 }} | ${BURSTABLE}        | ${'whole 2'}
  ${'the largest count that shares can express'}     | ${cpus(255)}                                         | ${BURSTABLE}        | ${'whole 255'}
  ${'a larger count, from the quota'}                | ${cpus(300)}                                         | ${BURSTABLE}        | ${'whole 300'}
  ${'more than shares can express, but a low quota'} | ${cpus(300, 4)}                                      | ${BURSTABLE}        | ${'CPU request and limit of the container differ'}
  ${'a limit above the request'}                     | ${cpus(2, 4)}                                        | ${BURSTABLE}        | ${'CPU request and limit of the container differ'}
  ${'a limit below the request'}                     | ${cpus(2, 1)}                                        | ${BURSTABLE}        | ${'CPU request and limit of the container differ'}
  ${'a limit that is a fraction'}                    | ${cpus(2, 2.5)}                                      | ${BURSTABLE}        | ${'CPU request and limit of the container differ'}
  ${'a fraction'}                                    | ${cpus(1.5)}                                         | ${BURSTABLE}        | ${'1500m CPU is not a whole number of CPUs'}
  ${'no limit'}                                      | ${{ shares: 2048, periodUs: 100_000 }}               | ${BURSTABLE}        | ${'the container has no CPU limit, or the kubelet does not send it'}
  ${'no limit of 256 CPUs'}                          | ${{ shares: 262_144 }}                               | ${BURSTABLE}        | ${'the container has no CPU limit, or the kubelet does not send it'}
  ${'no request'}                                    | ${{ shares: 2, quotaUs: 200_000 }}                   | ${BURSTABLE}        | ${'the container asks for no CPU'}
  ${'nothing'}                                       | ${{}}                                                | ${BURSTABLE}        | ${'the container asks for no CPU'}
  ${'a lifted limit'}                                | ${{ ...cpus(2), quotaUs: -1 }}                       | ${BURSTABLE}        | ${'the CPU limit was lifted, so it is no longer known'}
  ${'the kubelet pins too'}                          | ${{ ...cpus(2), quotaUs: -1 }}                       | ${'/kubepods/podp'} | ${/static CPU manager policy of the kubelet pins it/}
`('$name', ({ resources, parent, want }: { resources: CpuResources; parent: string; want: string | RegExp }) => {
  const got = infer(resources, parent);
  if (typeof want === 'string') expect(got).toBe(want);
  else expect(got).toMatch(want);
});
