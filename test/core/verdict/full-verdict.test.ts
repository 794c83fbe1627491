import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import { judge } from '../../../src/core/verdict/judge';
import {
  sampleThreads,
  type Observation,
  type Quota,
  type ThreadSample,
  type UnreadQuota,
} from '../../../src/core/verdict/observation';
import { findThrottles } from '../../../src/core/verdict/throttling';
import { buildTopology } from '../../../src/core/topology';
import { EIGHT_CPUS, NodeDriver } from '../transition/node-driver';

const quotaOf = (quotaUs: number): Quota => ({ quotaUs, periodUs: 100_000 });
const sample = (effective: string, ...allowed: string[]): ThreadSample =>
  sampleThreads(parseCpuList(effective), allowed.map(parseCpuList));

/** A pinned container on CPUs 1,5, seen with its cpuset as promised. */
function seeing(
  lift: boolean,
  more: { quota?: Quota; podQuota?: Quota; unread?: readonly UnreadQuota[]; threads?: ThreadSample },
) {
  const node = new NodeDriver(undefined, { liftCpuQuota: lift }).run('make p/a 2');
  const container = node.container('p/a')!;
  const own = container.promise!.cpus;
  const observation: Observation = { kind: 'seen', cpus: own, effective: own, mems: CpuSet.empty, ...more };
  return { throttles: findThrottles(node.model, container, observation), ...judge(node.model, container, observation) };
}

test.each`
  name                                                               | lift     | quota      | podQuota   | throttles               | kind          | because
  ${'no quota anywhere'}                                             | ${true}  | ${-1}      | ${-1}      | ${[]}                   | ${'kept'}     | ${/^2 exclusive CPUs[^;]*$/}
  ${'quotas were not read'}                                          | ${true}  | ${null}    | ${null}    | ${[]}                   | ${'kept'}     | ${/^2 exclusive CPUs[^;]*$/}
  ${'its own quota is back'}                                         | ${true}  | ${200_000} | ${-1}      | ${['container']}        | ${'violated'} | ${/^throttled: a CFS quota of 2 CPUs \(200000 µs/}
  ${'a quota of 0 is a quota'}                                       | ${true}  | ${0}       | ${-1}      | ${['container']}        | ${'violated'} | ${/0 CPUs/}
  ${"its pod's quota holds it back"}                                 | ${true}  | ${-1}      | ${250_000} | ${['pod']}              | ${'kept'}     | ${/; throttled with the rest of its pod by the CFS quota of 2\.5 CPUs/}
  ${'both'}                                                          | ${true}  | ${100_000} | ${100_000} | ${['container', 'pod']} | ${'violated'} | ${/of 1 CPU \(/}
  ${'quotas that stay by choice are named, and the promise is kept'} | ${false} | ${200_000} | ${200_000} | ${[]}                   | ${'kept'}     | ${/; its CFS quota of 2 CPUs .* applies: lifting it is off$/}
`('quota: $name', ({ lift, quota, podQuota, throttles, kind, because }) => {
  const asQuota = (quotaUs: number | null) => (quotaUs === null ? undefined : quotaOf(quotaUs));
  const [own, pod] = [asQuota(quota), asQuota(podQuota)];
  expect(seeing(lift, { ...(own && { quota: own }), ...(pod && { podQuota: pod }) })).toEqual({
    throttles,
    kind,
    because: expect.stringMatching(because as RegExp),
  });
});

test.each`
  name                                                  | lift     | scope          | kind         | because
  ${'its own, which was lifted, counts as not known'}   | ${true}  | ${'container'} | ${'unknown'} | ${/^the CFS quota of the container could not be read: EIO$/}
  ${"its pod's, which was lifted, counts as not known"} | ${true}  | ${'pod'}       | ${'unknown'} | ${/^the CFS quota of its pod could not be read: EIO$/}
  ${'an unread quota without a promise is named'}       | ${false} | ${'container'} | ${'kept'}    | ${/^2 exclusive CPUs.*; the CFS quota of the container could not be read: EIO$/}
`('a quota that can not be read: $name', ({ lift, scope, kind, because }) => {
  const unread = [{ scope: scope as UnreadQuota['scope'], because: 'EIO' }];
  expect(seeing(lift as boolean, { unread })).toMatchObject({
    throttles: [],
    kind,
    because: expect.stringMatching(because as RegExp),
  });
});

test.each`
  name                                            | allowed                   | looked | narrower | cpus     | outside
  ${'no thread was read'}                         | ${[]}                     | ${0}   | ${0}     | ${''}    | ${''}
  ${'all have the whole cpuset'}                  | ${['1,5', '1,5']}         | ${2}   | ${0}     | ${''}    | ${''}
  ${'some have a narrower affinity of their own'} | ${['1,5', '1', '5', '1']} | ${4}   | ${3}     | ${'1,5'} | ${''}
  ${'one may run outside'}                        | ${['1,5', '0-7']}         | ${2}   | ${0}     | ${''}    | ${'0,2-4,6-7'}
  ${'one has only other CPUs'}                    | ${['2']}                  | ${1}   | ${1}     | ${'2'}   | ${'2'}
`('threads: $name', ({ allowed, looked, narrower, cpus, outside }) => {
  expect(sample('1,5', ...(allowed as string[]))).toEqual({
    looked,
    narrower,
    narrowerCpus: parseCpuList(cpus as string),
    outside: parseCpuList(outside as string),
  });
});

test.each`
  name                                            | allowed           | kind          | because
  ${'an affinity of its own is no drift'}         | ${['1,5', '1']}   | ${'kept'}     | ${/; 1 of 2 threads keeps to 1 by an affinity of its own$/}
  ${'a thread outside of the cpuset is a breach'} | ${['1,5', '0-7']} | ${'violated'} | ${/^threads of it may run on 0,2-4,6-7, outside/}
`('verdict on threads: $name', ({ allowed, kind, because }) => {
  const { throttles: _throttles, ...verdict } = seeing(true, { threads: sample('1,5', ...(allowed as string[])) });
  expect(verdict).toEqual({ kind, because: expect.stringMatching(because as RegExp) });
});

test.each`
  name                                                 | isolated | make            | because
  ${'a pinned container whose CPUs are isolated'}      | ${'1,5'} | ${'make p/a 2'} | ${/; the kernel isolates CPUs 1,5: threads stay on the one where they start$/}
  ${'one isolated CPU: a thread can not be elsewhere'} | ${'1'}   | ${'make p/a 2'} | ${/^2 exclusive CPUs[^;]*$/}
  ${'isolated CPUs of others'}                         | ${'2,6'} | ${'make p/a 2'} | ${/^2 exclusive CPUs[^;]*$/}
  ${'a shared container that has others beside them'}  | ${'2,6'} | ${'make p/a 0'} | ${/^in the shared pool$/}
  ${'a shared container that has no others'}           | ${'0-7'} | ${'make p/a 0'} | ${/^in the shared pool; the kernel isolates CPUs 0-7/}
`('isolated CPUs: $name', ({ isolated, make, because }) => {
  const node = new NodeDriver(buildTopology({ cpus: EIGHT_CPUS.cpus, isolated: parseCpuList(isolated as string) })).run(
    make as string,
  );
  const container = node.container('p/a')!;
  const own = container.promise!.cpus;
  const seen = { kind: 'seen', cpus: own, effective: own, mems: CpuSet.empty } as const;
  expect(judge(node.model, container, seen)).toEqual({
    kind: 'kept',
    because: expect.stringMatching(because as RegExp),
  });
});
