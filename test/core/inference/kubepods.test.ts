import { kubepodsOfKubelet, kubepodsOfParent } from '../../../src/core/inference/kubepods';

const UID = '8f3c1a52-0f7e-4d0e-9b0e-1c2d3e4f5a6b';
const SLICE_UID = UID.replaceAll('-', '_');

test.each([
  ['Guaranteed, cgroupfs', `/kubepods/pod${UID}`, '/kubepods'],
  ['Burstable, cgroupfs', `/kubepods/burstable/pod${UID}`, '/kubepods'],
  ['a cgroup root in front', `/system/kubepods/besteffort/pod${UID}`, '/system/kubepods'],
  ['a nested kubelet', `/kubepods/pod${UID}/x/kubepods/burstable/pod${UID}`, `/kubepods/pod${UID}/x/kubepods`],
  ['Guaranteed, systemd', `kubepods-pod${SLICE_UID}.slice`, '/kubepods.slice'],
  ['Burstable, systemd', `kubepods-burstable-pod${SLICE_UID}.slice`, '/kubepods.slice'],
  [
    'a whole path, systemd',
    `/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod${SLICE_UID}.slice`,
    '/kubepods.slice',
  ],
  ['a cgroup root, systemd', `system-kubepods-burstable-pod${SLICE_UID}.slice`, '/system.slice/system-kubepods.slice'],
  [
    'a deep cgroup root, systemd',
    `a_b-c-kubepods-pod${SLICE_UID}.slice`,
    '/a_b.slice/a_b-c.slice/a_b-c-kubepods.slice',
  ],
])('the cgroup of all pods by the parent of one: %s', (_name, parent, root) => {
  expect(kubepodsOfParent(parent)?.root).toBe(root);
});

test('the cgroups of the QoS classes', () => {
  expect(kubepodsOfParent(`/x/kubepods/pod${UID}`)).toEqual({
    root: '/x/kubepods',
    burstable: '/x/kubepods/burstable',
    besteffort: '/x/kubepods/besteffort',
  });
  expect(kubepodsOfParent(`x-kubepods-pod${SLICE_UID}.slice`)).toEqual({
    root: '/x.slice/x-kubepods.slice',
    burstable: '/x.slice/x-kubepods.slice/x-kubepods-burstable.slice',
    besteffort: '/x.slice/x-kubepods.slice/x-kubepods-besteffort.slice',
  });
});

test('a pod of a known UID in an unusual form', () => {
  expect(kubepodsOfParent('/kubepods/podweb.1+x', 'web.1+x')?.root).toBe('/kubepods');
});

test.each([
  ['nothing', ''],
  ['a cgroup of somebody else', '/system.slice'],
  ['a pod outside kubepods', `/libpod/pod${UID}`],
  ['a path that leaves the hierarchy', `/../kubepods/pod${UID}`],
  ['a path with the same folder in it', `/a/./kubepods/pod${UID}`],
  ['a control character', `/a\n/kubepods/pod${UID}`],
  ['a slice with an empty part', `a--kubepods-pod${SLICE_UID}.slice`],
])('%s is below no cgroup of pods', (_name, parent) => {
  expect(kubepodsOfParent(parent)).toBeUndefined();
});

test.each([
  ['systemd', { cgroupDriver: 'systemd' }, ['/kubepods.slice']],
  ['cgroupfs', { cgroupDriver: 'cgroupfs' }, ['/kubepods']],
  ['the root as it is written out', { cgroupDriver: 'cgroupfs', cgroupRoot: '/' }, ['/kubepods']],
  ['a driver that is not known', {}, ['/kubepods.slice', '/kubepods']],
  ['a root, cgroupfs', { cgroupDriver: 'cgroupfs', cgroupRoot: '/system/a-b/' }, ['/system/a-b/kubepods']],
  [
    'a root, systemd: dashes become underscores',
    { cgroupDriver: 'systemd', cgroupRoot: '/system/a-b' },
    ['/system.slice/system-a_b.slice/system-a_b-kubepods.slice'],
  ],
  ['no cgroups for pods', { cgroupsPerQos: false }, []],
  ['a root that leaves the hierarchy', { cgroupRoot: '/../x', cgroupDriver: 'cgroupfs' }, []],
] as const)('the cgroup of all pods by the configuration of the kubelet: %s', (_name, kubelet, roots) => {
  expect(kubepodsOfKubelet(kubelet).map(({ root }) => root)).toEqual(roots);
});
