import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { podCgroupOf } from '../../../src/app/cgroups/container-cgroups';
import type { Move } from '../../../src/core/plan/plan-moves';
import { openCgroups } from '../../../src/host';
import { cpus, NodeDriver } from '../../core/transition/node-driver';
import { containerCgroups } from '../../support/container-cgroups';

/** On a cgroup v2 tree of plain files: a written text is read back unchanged. */
describe('move', () => {
  let root: string;
  const pod = 'kubepods/burstable/podp';
  const read = (path: string): string => readFileSync(join(root, path), 'utf8').trim();

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'cg'));
    writeFileSync(join(root, 'cgroup.controllers'), 'cpuset cpu');
    for (const [dir, quota] of [[pod, 'max 100000'], [`${pod}/c`, 'max 100000']] as const) {
      mkdirSync(join(root, dir), { recursive: true });
      writeFileSync(join(root, dir, 'cpuset.cpus'), '0-7');
      writeFileSync(join(root, dir, 'cpu.max'), quota);
    }
  }); // prettier-ignore
  afterEach(() => rmSync(root, { recursive: true }));

  const move = (to: Partial<Move['to']>, more: Partial<Move> = {}) => {
    return containerCgroups(openCgroups({ cgroupRoot: root }), new NodeDriver().model).move({
      containerId: 'c',
      cgroupsPath: `/${pod}/c`,
      to: { cpus: cpus('1-2'), mems: cpus(''), ...to },
      because: 'for the test',
      ...more,
    });
  };

  test('without a promised quota, only the CPUs are written', () => {
    expect(move({})).toBeUndefined();
    expect([read(`${pod}/c/cpuset.cpus`), read(`${pod}/c/cpu.max`)]).toEqual(['1-2', 'max 100000']);
  });

  test('promised quotas of the container and of its pod are written over lifted ones', () => {
    const podQuota = { podUid: 'p', quota: { quotaUs: 300_000, periodUs: 100_000 } };
    expect(move({ quota: { quotaUs: 200_000, periodUs: 100_000 } }, { podQuota })).toBeUndefined();
    expect([read(`${pod}/c/cpu.max`), read(`${pod}/cpu.max`)]).toEqual(['200000 100000', '300000 100000']);
  });

  test('a pod quota that can’t be written fails the move, and the failure names the file', () => {
    rmSync(join(root, pod, 'cpu.max'));
    mkdirSync(join(root, pod, 'cpu.max')); // a directory can't be written
    const podQuota = { podUid: 'p', quota: { quotaUs: 300_000, periodUs: 100_000 } };
    expect(move({ quota: { quotaUs: 200_000, periodUs: 100_000 } }, { podQuota })).toEqual({
      kind: 'refused',
      because: expect.stringContaining(`${pod}/cpu.max`),
    });
    expect([read(`${pod}/c/cpuset.cpus`), read(`${pod}/c/cpu.max`)]).toEqual(['1-2', '200000 100000']);
  });

  test('a promised quota without limit replaces the limit', () => {
    writeFileSync(join(root, pod, 'c', 'cpu.max'), '200000 100000');
    expect(move({ quota: { quotaUs: -1 } })).toBeUndefined();
    expect(read(`${pod}/c/cpu.max`)).toMatch(/^max 100000/); // a plain file keeps the rest of a longer text
  });

  test('a parent cgroup of another pod is not written', () => {
    const podQuota = { podUid: 'another', quota: { quotaUs: 300_000 } };
    expect(move({ quota: { quotaUs: 200_000 } }, { podQuota })).toBeUndefined();
    expect(read(`${pod}/cpu.max`)).toBe('max 100000');
  });
});

describe('podCgroupOf', () => {
  const UID = '8f0e1c1a-5f3b-4a53-9c53-0d3f5f2b7a10';
  const SLICE = '/kubepods.slice/kubepods-pod8f0e1c1a_5f3b_4a53_9c53_0d3f5f2b7a10.slice';

  test.each`
    name                                                        | dir                                    | uid           | pod
    ${'cgroupfs driver: the parent'}                            | ${`/kubepods/pod${UID}/abc`}           | ${UID}        | ${`/kubepods/pod${UID}`}
    ${'systemd driver, dashes as underscores: the parent'}      | ${`${SLICE}/cri-containerd-abc.scope`} | ${UID}        | ${SLICE}
    ${'a static pod, whose uid is a hash: the parent'}          | ${'/kubepods/pod0123abcd/abc'}         | ${'0123abcd'} | ${'/kubepods/pod0123abcd'}
    ${'a parent of another pod: none'}                          | ${`/kubepods/podother/abc`}            | ${UID}        | ${undefined}
    ${'no cgroups per QoS, so that the parent is shared: none'} | ${'/system.slice/abc'}                 | ${UID}        | ${undefined}
    ${'a container below the root: none'}                       | ${'/abc'}                              | ${UID}        | ${undefined}
    ${'a pod without uid: none'}                                | ${'/kubepods/pod/abc'}                 | ${''}         | ${undefined}
  `('$name', ({ dir, uid, pod }: { dir: string; uid: string; pod: string | undefined }) => {
    expect(podCgroupOf(dir, uid)).toBe(pod);
  });
});
