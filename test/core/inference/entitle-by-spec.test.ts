import { explainsMessage, guaranteedBySpec, wholeBySpec } from '../../../src/core/inference/entitle-by-spec';
import type { CpuRequest } from '../../../src/core/inference/infer-cpu-request';
import type { CpuResources } from '../../../src/core/model/events';
import type { PodSpec } from '../../../src/core/model/pod-spec';
import { specOf } from '../../support/spec-of';

const show = (request: CpuRequest): string => (request.kind === 'exclusive' ? `${request.count}` : request.because);

test.each`
  name                                       | container            | pod                                        | static                                                                 | cranes
  ${'whole CPUs in a Guaranteed pod'}        | ${'a 2'}             | ${{}}                                      | ${'2'}                                                                 | ${'2'}
  ${'more than shares can express'}          | ${'a 300'}           | ${{}}                                      | ${'300'}                                                               | ${'300'}
  ${'exactly as many as shares can express'} | ${'a 256'}           | ${{}}                                      | ${'256'}                                                               | ${'256'}
  ${'an init container'}                     | ${'a init 2'}        | ${{}}                                      | ${'2'}                                                                 | ${/^it is an init container, and Crane's policies are for app containers$/}
  ${'a sidecar'}                             | ${'a sidecar 2'}     | ${{}}                                      | ${'2'}                                                                 | ${/^it is an init container/}
  ${'a fraction'}                            | ${'a 1.5'}           | ${{}}                                      | ${'1500m CPU is not a whole number of CPUs'}                           | ${'1500m CPU is not a whole number of CPUs'}
  ${'no CPU'}                                | ${'a 0'}             | ${{}}                                      | ${'the container asks for no CPU of its own'}                          | ${'the container asks for no CPU'}
  ${'a Burstable pod'}                       | ${'a 2'}             | ${{ qos: 'Burstable' }}                    | ${'the pod is Burstable, and only Guaranteed pods have exclusive CPUs'} | ${'2'}
  ${'a limit above the request'}             | ${'a 2/4'}           | ${{ qos: 'Burstable' }}                    | ${/Burstable/}                                                         | ${'CPU request and limit of the container differ'}
  ${'no limit'}                              | ${'a 2/-'}           | ${{ qos: 'Burstable' }}                    | ${/Burstable/}                                                         | ${'the container has no CPU limit'}
  ${'in a pod with resources as a whole'}    | ${'a 2'}             | ${{ podResources: { requestMilliCpu: 4000 } }} | ${'2'}                                                             | ${'2'}
  ${'no limit of its own in such a pod'}     | ${'a 2/-'}           | ${{ podResources: { requestMilliCpu: 4000 } }} | ${'the pod has resources as a whole, and CPU request and limit of the container differ'} | ${'the container has no CPU limit'}
  ${'no CPU of its own in such a pod'}       | ${'a 0'}             | ${{ podResources: { requestMilliCpu: 4000 } }} | ${'the container asks for no CPU of its own'}                      | ${'the container asks for no CPU'}
`(
  '$name',
  ({ container, pod, static: ofStatic, cranes }: Record<'container' | 'static' | 'cranes', string> & { pod: Partial<PodSpec> }) => {
    const spec = specOf('p', container, pod);
    expect(show(guaranteedBySpec(spec, spec.containers[0]!))).toMatch(ofStatic);
    expect(show(wholeBySpec(spec, spec.containers[0]!))).toMatch(cranes);
  },
); // prettier-ignore

const LIMIT = { quotaUs: 200_000, periodUs: 100_000 };
test.each`
  name                                                  | container    | message                                                | want
  ${'the numbers of the kubelet'}                       | ${'a 2'}     | ${{ shares: 2048, ...LIMIT }}                          | ${true}
  ${'without quotas'}                                   | ${'a 2'}     | ${{ shares: 2048 }}                                    | ${true}
  ${'a quota that was lifted'}                          | ${'a 2'}     | ${{ shares: 2048, quotaUs: -1 }}                       | ${true}
  ${'no request: the least shares'}                     | ${'a 0'}     | ${{ shares: 2 }}                                       | ${true}
  ${'no request, and a message without shares'}         | ${'a 0'}     | ${{}}                                                  | ${true}
  ${'the quota of the pod, without a limit of its own'} | ${'a 1/-'}  | ${{ shares: 1024, ...LIMIT }}                          | ${true}
  ${'more than shares can express in the message'}      | ${'a 300'}   | ${{ shares: 262_144, quotaUs: 30_000_000 }}            | ${true}
  ${'another period'}                                   | ${'a 2'}     | ${{ shares: 2048, quotaUs: 20_000, periodUs: 10_000 }} | ${true}
  ${'not: a resize that was not carried out yet'}       | ${'a 4'}     | ${{ shares: 2048, ...LIMIT }}                          | ${false}
  ${'not: a resize that shows only in the quota'}       | ${'a 300'}   | ${{ shares: 262_144, quotaUs: 26_000_000 }}            | ${false}
  ${'not: a message without the request'}               | ${'a 2'}     | ${{ shares: 2, ...LIMIT }}                             | ${false}
`('the message is that of the spec: $name', ({ container, message, want }: { container: string; message: CpuResources; want: boolean }) => {
  expect(explainsMessage(specOf('p', container), specOf('p', container).containers[0]!, message)).toBe(want);
}); // prettier-ignore

const OF_FOUR = { podResources: { requestMilliCpu: 4000, limitMilliCpu: 4000 } };
const OF_THE_POD = { shares: 4096, quotaUs: 400_000, periodUs: 100_000 };
test.each`
  name                                                        | container  | message                                      | want
  ${'no request and no limit: the numbers of the pod'}        | ${'a 0'}   | ${OF_THE_POD}                                | ${true}
  ${'a request without a limit: the quota of the pod'}        | ${'a 2/-'} | ${{ ...OF_THE_POD, shares: 2048 }}           | ${true}
  ${'its own numbers'}                                        | ${'a 2'}   | ${{ shares: 2048, ...LIMIT }}                | ${true}
  ${'not: those of the pod, where it has numbers of its own'} | ${'a 2'}   | ${OF_THE_POD}                                | ${false}
  ${'not: neither its own nor those of the pod'}              | ${'a 0'}   | ${{ shares: 2048, ...LIMIT }}                | ${false}
`('in a pod with resources as a whole, the message is that of the spec: $name', ({ container, message, want }: { container: string; message: CpuResources; want: boolean }) => {
  const spec = specOf('p', container, OF_FOUR);
  expect(explainsMessage(spec, spec.containers[0]!, message)).toBe(want);
}); // prettier-ignore
