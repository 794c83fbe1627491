import { podCgroupOf } from '../../src/app/pod-cgroup';

const UID = '8f0e1c1a-5f3b-4a53-9c53-0d3f5f2b7a10';

test.each`
  name                                          | dir                                                                                                  | uid           | pod
  ${'cgroupfs driver'}                          | ${`/kubepods/pod${UID}/abc`}                                                                         | ${UID}        | ${`/kubepods/pod${UID}`}
  ${'systemd driver: dashes are underscores'}   | ${'/kubepods.slice/kubepods-pod8f0e1c1a_5f3b_4a53_9c53_0d3f5f2b7a10.slice/cri-containerd-abc.scope'} | ${UID}        | ${'/kubepods.slice/kubepods-pod8f0e1c1a_5f3b_4a53_9c53_0d3f5f2b7a10.slice'}
  ${'a static pod: the uid is a hash'}          | ${'/kubepods/pod0123abcd/abc'}                                                                       | ${'0123abcd'} | ${'/kubepods/pod0123abcd'}
  ${"another pod's"}                            | ${`/kubepods/podother/abc`}                                                                          | ${UID}        | ${undefined}
  ${'no cgroups per QoS: the parent is shared'} | ${'/system.slice/abc'}                                                                               | ${UID}        | ${undefined}
  ${'the root'}                                 | ${'/abc'}                                                                                            | ${UID}        | ${undefined}
  ${'a pod without uid'}                        | ${'/kubepods/pod/abc'}                                                                               | ${''}         | ${undefined}
`('$name', ({ dir, uid, pod }: { dir: string; uid: string; pod: string | undefined }) => {
  expect(podCgroupOf(dir, uid)).toBe(pod);
});
