import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Move } from '../../../src/core/plan/plan-moves';
import { openCgroups } from '../../../src/host';
import { cpus, NodeDriver } from '../../core/transition/node-driver';
import { containerCgroups } from '../../support/container-cgroups';

/** A cgroup v2 tree of plain files: what is written is read back as it was written. */
describe('a move writes what was promised', () => {
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

  test('CPUs, and no quota where none is promised', () => {
    expect(move({})).toBeUndefined();
    expect([read(`${pod}/c/cpuset.cpus`), read(`${pod}/c/cpu.max`)]).toEqual(['1-2', 'max 100000']);
  });

  test('the quota of the container and of its pod, where they were lifted', () => {
    const podQuota = { podUid: 'p', quota: { quotaUs: 300_000, periodUs: 100_000 } };
    expect(move({ quota: { quotaUs: 200_000, periodUs: 100_000 } }, { podQuota })).toBeUndefined();
    expect([read(`${pod}/c/cpu.max`), read(`${pod}/cpu.max`)]).toEqual(['200000 100000', '300000 100000']);
  });

  test('a quota of the pod that can’t be written fails the move, and says where', () => {
    rmSync(join(root, pod, 'cpu.max'));
    mkdirSync(join(root, pod, 'cpu.max')); // no kernel takes a write there
    const podQuota = { podUid: 'p', quota: { quotaUs: 300_000, periodUs: 100_000 } };
    expect(move({ quota: { quotaUs: 200_000, periodUs: 100_000 } }, { podQuota })).toEqual({
      kind: 'refused',
      because: expect.stringContaining(`${pod}/cpu.max`),
    });
    expect([read(`${pod}/c/cpuset.cpus`), read(`${pod}/c/cpu.max`)]).toEqual(['1-2', '200000 100000']);
  });

  test('a quota is lifted', () => {
    writeFileSync(join(root, pod, 'c', 'cpu.max'), '200000 100000');
    expect(move({ quota: { quotaUs: -1 } })).toBeUndefined();
    expect(read(`${pod}/c/cpu.max`)).toMatch(/^max 100000/); // a plain file keeps what a shorter text leaves
  });

  test('a parent that is not this pod’s is not touched', () => {
    const podQuota = { podUid: 'another', quota: { quotaUs: 300_000 } };
    expect(move({ quota: { quotaUs: 200_000 } }, { podQuota })).toBeUndefined();
    expect(read(`${pod}/cpu.max`)).toBe('max 100000');
  });
});
