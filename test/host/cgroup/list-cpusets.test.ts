import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { CgroupError, listCpusets } from '../../../src/host';
import { useTempDirs } from '../../state/support/temp-dir';

const makeDir = useTempDirs();

/** A folder that stands for the root of cgroups. */
function makeRoot(files: Readonly<Record<string, string>>): string {
  const root = makeDir();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}

const V2 = {
  'cgroup.controllers': 'cpuset cpu\n',
  'cpuset.cpus.effective': '0-7\n',
  'system.slice/private.service/cpuset.cpus': '0\n',
  'kubepods.slice/cpuset.cpus': '\n',
  'kubepods.slice/cpuset.cpus.effective': '0-7\n',
  'kubepods.slice/kubepods-pod1.slice/cri-containerd-a.scope/cpuset.cpus': '2-3\n',
  'kubepods.slice/kubepods-pod1.slice/cri-containerd-a.scope/cpu.max': 'max 100000\n',
};

test('version 2: the root, what is below it, and all pods; no unit of systemd is named', () => {
  expect(listCpusets(makeRoot(V2), 100)).toEqual({
    isCut: false,
    cgroups: [
      { cgroup: '/', files: { 'cpuset.cpus.effective': '0-7' } },
      { cgroup: '/kubepods.slice', files: { 'cpuset.cpus': '', 'cpuset.cpus.effective': '0-7' } },
      { cgroup: '/system.slice', files: {} },
      { cgroup: '/kubepods.slice/kubepods-pod1.slice', files: {} },
      {
        cgroup: '/kubepods.slice/kubepods-pod1.slice/cri-containerd-a.scope',
        files: { 'cpuset.cpus': '2-3', 'cpu.max': 'max 100000' },
      },
    ],
  });
});

test('version 1: CPUs and quota are in two hierarchies; the kubelet may be in a container itself', () => {
  const root = makeRoot({
    'cpuset/cpuset.cpus': '0-7\n',
    'cpuset/tasks': '',
    'cpu/cpu.shares': '1024\n',
    'cpuset/docker/x/kubelet/kubepods/pod1/c/cpuset.cpus': '4\n',
    'cpu/docker/x/kubelet/kubepods/pod1/c/cpu.cfs_quota_us': '-1\n',
  });
  expect(listCpusets(root, 100).cgroups.map(({ cgroup }) => cgroup)).toEqual([
    '/',
    '/docker',
    '/docker/x/kubelet/kubepods',
    '/docker/x/kubelet/kubepods/pod1',
    '/docker/x/kubelet/kubepods/pod1/c',
  ]);
  expect(listCpusets(root, 100).cgroups.at(-1)!.files).toEqual({ 'cpuset.cpus': '4', 'cpu.cfs_quota_us': '-1' });
});

test('it says that it is cut, and that there are no cpusets', () => {
  const cut = listCpusets(makeRoot(V2), 2);
  expect([cut.cgroups.length, cut.isCut]).toEqual([2, true]);
  expect(() => listCpusets(makeRoot({}), 2)).toThrow(CgroupError);
});
