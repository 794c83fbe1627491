import { podCgroupOf } from '../../../src/app/cgroups/container-cgroups';
import { parseCpuList } from '../../../src/core/cpuset';
import type { Cgroups } from '../../../src/host';
import { NodeDriver, podOf } from '../../core/transition/node-driver';
import { containerCgroups } from '../../support/container-cgroups';

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

describe('widening what is above the containers of a pod', () => {
  const widened: string[] = [];
  const cgroups = (version: 1 | 2) => {
    const widen: Cgroups['widen'] = (dir, cpus) => {
      widened.push(`${dir} ${cpus.toString()}`);
      return { kind: 'ok', changed: true };
    };
    return { version, widen } as Cgroups;
  };
  beforeEach(() => (widened.length = 0));

  test.each`
    name                                    | version | cgroupParent              | outcome      | calls
    ${'version 1, cgroupfs driver'}         | ${1}    | ${'/kubepods/podu'}       | ${'ok'}      | ${['/kubepods/podu 0-3']}
    ${'version 1, systemd driver'}          | ${1}    | ${'kubepods-podu.slice'}  | ${'ok'}      | ${['/kubepods.slice/kubepods-podu.slice 0-3']}
    ${'version 1, no cgroups per QoS'}      | ${1}    | ${''}                     | ${'ok'}      | ${[]}
    ${'version 1, a parent that goes up'}   | ${1}    | ${'/kubepods/../../podu'} | ${'refused'} | ${[]}
    ${'version 2, where nothing is needed'} | ${2}    | ${'/kubepods/podu'}       | ${'ok'}      | ${[]}
  `('$name', ({ version, cgroupParent, outcome, calls }) => {
    const pod = { ...podOf('u'), cgroupParent: cgroupParent as string };
    expect(
      containerCgroups(cgroups(version as 1 | 2), new NodeDriver().model).widenAbovePod(pod, parseCpuList('0-3')).kind,
    ).toBe(outcome);
    expect(widened).toEqual(calls);
  });
});
