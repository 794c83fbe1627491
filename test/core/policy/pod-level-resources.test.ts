import { classifyQos } from '../../../src/core/inference/qos';
import type { ContainerInfo, PodInfo } from '../../../src/core/model/events';
import type { ContainerSpec, PodSpec, SpecResources } from '../../../src/core/model/pod-spec';
import { withSpec } from '../../../src/core/model/spec-book';
import { entitledCpus, requestOf } from '../../../src/core/decision/entitlement';
import { defaulted, messageOf } from '../../support/pod-level';
import { createRandom, type Random } from '../../support/random';

interface Case {
  readonly spec: PodSpec;
  readonly container: ContainerSpec;
}

/** Both answers about a container: with the spec, and by the message alone. */
function answers({ spec, container }: Case): { readonly known: number; readonly unknown: number } {
  const ofPod = spec.podResources ?? {};
  const sandbox: PodInfo = {
    sandboxId: 's',
    uid: spec.uid,
    namespace: spec.namespace,
    name: spec.name,
    annotations: {},
    cgroupParent: spec.qos === 'Guaranteed' ? `/kubepods/pod${spec.uid}` : `/kubepods/burstable/pod${spec.uid}`,
    podResources: messageOf(ofPod, {}),
  };
  const info: ContainerInfo = {
    id: 'c',
    sandboxId: 's',
    name: container.name,
    phase: 'creating',
    cgroupsPath: '',
    resources: messageOf(container, ofPod),
  };
  const decide = (podSpec: PodSpec | undefined) => entitledCpus(requestOf(withSpec(sandbox, podSpec), info, 'static'));
  return { known: decide(spec), unknown: decide(undefined) };
}

/**
 * The one kind of difference: the container has no CPU limit of its own, so its message has the pod's. When its shares
 * are those of the pod too, it can't be told from a container that asks for all CPUs of its pod.
 */
function looksLikeItsPod({ spec: { podResources }, container }: Case): boolean {
  const limit = podResources?.limitMilliCpu;
  return container.limitMilliCpu === undefined && (container.requestMilliCpu ?? limit) === limit;
}

const MILLI = [undefined, 250, 1000, 1500, 2000, 4000] as const;
const BYTES = [undefined, 1 << 26, 1 << 28] as const;

function makeCase(random: Random): Case {
  const pod = defaulted({
    ...set('limitMilliCpu', random.pick([1000, 2500, 4000])),
    ...set('limitMemoryBytes', 1 << 28),
    ...(random.chance(0.2) && { requestMilliCpu: 1000 }),
  });
  const within = (milli: number | undefined) => (milli !== undefined && milli > pod.limitMilliCpu! ? undefined : milli);
  const own = defaulted({
    ...set('requestMilliCpu', within(random.pick(MILLI))),
    ...set('limitMilliCpu', within(random.pick(MILLI))),
    ...set('requestMemoryBytes', random.pick(BYTES)),
    ...set('limitMemoryBytes', random.pick(BYTES)),
  });
  const { requestMilliCpu: request = 0, limitMilliCpu: limit = Infinity } = own;
  const container: ContainerSpec = {
    name: 'a',
    kind: random.pick(['init', 'sidecar', 'app']),
    ended: false,
    ...own,
    ...(request > limit && { requestMilliCpu: limit }),
  };
  const toResources = (resources: SpecResources) => ({
    requests: { cpu: resources.requestMilliCpu ?? 0, memory: resources.requestMemoryBytes ?? 0 },
    limits: { cpu: resources.limitMilliCpu ?? 0, memory: resources.limitMemoryBytes ?? 0 },
  });
  const qos = classifyQos([toResources(container)], toResources(pod));
  const names = { uid: '11111111-2222-3333-4444-555555555555', namespace: 'ns', name: 'p', annotations: {} };
  return { spec: { ...names, qos, finished: false, containers: [container], podResources: pod }, container };
}

function set<K extends string>(key: K, value: number | undefined): Partial<Record<K, number>> {
  return value === undefined ? {} : ({ [key]: value } as Record<K, number>);
}

test.each`
  name                                               | own                                                                | known | unknown
  ${'request and limit of two CPUs'}                 | ${{ limitMilliCpu: 2000, limitMemoryBytes: 1 << 26 }}              | ${2}  | ${2}
  ${'the same without memory of its own'}            | ${{ limitMilliCpu: 2000 }}                                         | ${2}  | ${2}
  ${'all CPUs of its pod'}                           | ${{ limitMilliCpu: 4000 }}                                         | ${4}  | ${4}
  ${'a fraction'}                                    | ${{ limitMilliCpu: 1500 }}                                         | ${0}  | ${0}
  ${'request below the limit'}                       | ${{ requestMilliCpu: 1000, limitMilliCpu: 2000 }}                  | ${0}  | ${0}
  ${'a request without a limit'}                     | ${{ requestMilliCpu: 2000 }}                                       | ${0}  | ${0}
  ${'a request of all CPUs of its pod, and no limit'} | ${{ requestMilliCpu: 4000 }}                                      | ${0}  | ${4}
  ${'nothing of its own'}                            | ${{}}                                                              | ${0}  | ${4}
`('in a pod of 4 CPUs, a container with $name: $known with the spec, $unknown without', ({ own, known, unknown }) => {
  const container: ContainerSpec = { name: 'a', kind: 'app', ended: false, ...defaulted(own as SpecResources) };
  const podResources = defaulted({ limitMilliCpu: 4000, limitMemoryBytes: 1 << 28 });
  const names = { uid: '11111111-2222-3333-4444-555555555555', namespace: 'ns', name: 'p', annotations: {} };
  const spec: PodSpec = { ...names, qos: 'Guaranteed', finished: false, containers: [container], podResources };
  expect(answers({ spec, container })).toEqual({ known, unknown });
}); // prettier-ignore

test('random pods with resources as a whole: the spec and the message give the same, except where the message is that of the pod', () => {
  const random = createRandom(1);
  let exclusive = 0;
  let exceptions = 0;
  for (let i = 0; i < 20_000; i++) {
    const drawn = makeCase(random);
    const { known, unknown } = answers(drawn);
    if (known > 0) exclusive++;
    if (known === unknown) continue;
    exceptions++;
    expect({ of: drawn, looksLikeItsPod: looksLikeItsPod(drawn), known }).toEqual({
      of: drawn,
      looksLikeItsPod: true,
      known: 0,
    });
    expect(unknown * 1000).toBe(drawn.spec.podResources?.limitMilliCpu);
  }
  expect(exclusive).toBeGreaterThan(1_000);
  expect(exceptions).toBeGreaterThan(100);
});
