import fc from 'fast-check';
import { parseCgroupParent } from '../../../src/core/inference/cgroup-parent';

const UID = '8f3c1a52-0f7e-4d0e-9b0e-1c2d3e4f5a6b';
const SLICE_UID = UID.replaceAll('-', '_');

test.each([
  ['a Guaranteed pod of the cgroupfs driver', `/kubepods/pod${UID}`, 'Guaranteed'],
  ['a trailing slash', `/kubepods/pod${UID}/`, 'Guaranteed'],
  ['a cgroup root in front', `/a/b/kubepods/burstable/pod${UID}`, 'Burstable'],
  ['a root that is called burstable says nothing', `/burstable/kubepods/pod${UID}`, 'Guaranteed'],
  ['the last element of a systemd path', `kubepods-besteffort-pod${SLICE_UID}.slice`, 'BestEffort'],
  ['a root in front of a systemd slice', `/x.slice/x-kubepods.slice/x-kubepods-pod${SLICE_UID}.slice`, 'Guaranteed'],
  ['something below the pod', `/kubepods/besteffort/pod${UID}/container`, 'BestEffort'],
])('%s is read', (_name, parent, qos) => {
  expect(parseCgroupParent(parent)).toEqual({ qos, podUid: UID });
});

test.each([
  ['nothing', ''],
  ['the root', '/'],
  ['no pod in it', '/kubepods/burstable'],
  ['a slice of the system', '/system.slice'],
  ['a pod outside kubepods', `/pod${UID}`],
  ['a pod beneath something else', `/libpod/pod${UID}`],
  ['a class the kubelet does not have', `/kubepods/silver/pod${UID}`],
  ['a class in another place', `/burstable/pod${UID}`],
  ['text after the UID', `/kubepods/pod${UID}x`],
  ['a UID too short', '/kubepods/pod8f3c1a52'],
  ['a UID that is no UID', '/kubepods/podman'],
  ['a slice that is no pod', '/kubepods.slice/kubepods-burstable.slice'],
  ['a slice without its suffix', `kubepods-pod${SLICE_UID}`],
  ['a slice of another prefix', `kube-pod${SLICE_UID}.slice`],
  ['a slice of a class the kubelet does not have', `kubepods-silver-pod${SLICE_UID}.slice`],
  ['a text that is far too long', `/${'a'.repeat(5000)}/kubepods/pod${UID}`],
])('a parent with %s is not a pod of the kubelet', (_name, parent) => {
  expect(parseCgroupParent(parent)).toBeUndefined();
});

test('a known UID is found also in an unusual form', () => {
  expect(parseCgroupParent('/kubepods/podweb.1+x', 'web.1+x')).toEqual({ qos: 'Guaranteed', podUid: 'web.1+x' });
  expect(parseCgroupParent('/kubepods/podwebX1+x', 'web.1+x')).toBeUndefined();
});

test('the common form is read like any other form, for any UID', () => {
  const anyUid = fc.oneof(
    fc.constantFrom(
      UID,
      'A' + UID.slice(1),
      SLICE_UID,
      `x/kubepods/pod${UID.slice(14)}`,
      'kubepods-pod.slice'.padStart(36, '-'),
    ),
    fc.string({ minLength: 36, maxLength: 36 }),
  );
  const anyPart = fc.constantFrom('kubepods', 'burstable', 'besteffort', 'silver', 'x', '');
  fc.assert(
    fc.property(anyUid, fc.array(anyPart, { maxLength: 5 }), fc.boolean(), (uid, parts, isAbsolute) => {
      const parent = [...(isAbsolute ? [''] : []), ...parts, `pod${uid}`].join('/');
      // A slash at the end is ignored, but the path is not in the common form any more.
      expect(parseCgroupParent(parent, uid)).toEqual(parseCgroupParent(`${parent}/`, uid));
    }),
    { seed: 1, numRuns: 2000 },
  );
});

test('any text is read or refused without an exception', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (parent, uid) => {
      expect(() => parseCgroupParent(parent, uid)).not.toThrow();
    }),
    { seed: 1 },
  );
});
