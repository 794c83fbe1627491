import fc from 'fast-check';
import { cgroupPathOf, cgroupPathOfParent } from '../../../src/host';

const show = (cgroupsPath: string): string => {
  const result = cgroupPathOf(cgroupsPath);
  return result.kind === 'path' ? result.path : `refused: ${result.because}`;
};

const POD = '0b6a7f4e_5d1c_4f64_9c7e_3a0e2f1b8c9d';

test.each`
  driver                            | cgroupsPath                                        | path
  ${'cgroupfs, Guaranteed'}         | ${'/kubepods/pod1-2/c1'}                           | ${'/kubepods/pod1-2/c1'}
  ${'cgroupfs, Burstable'}          | ${'/kubepods/burstable/pod1-2/c1'}                 | ${'/kubepods/burstable/pod1-2/c1'}
  ${'cgroupfs, nested node'}        | ${'/kubelet/kubepods/besteffort/pod1/c1'}          | ${'/kubelet/kubepods/besteffort/pod1/c1'}
  ${'cgroupfs, doubled slashes'}    | ${'//kubepods///pod1/c1/'}                         | ${'/kubepods/pod1/c1'}
  ${'cgroupfs, colons in a name'}   | ${'/kubepods/pod1/a:b:c'}                          | ${'/kubepods/pod1/a:b:c'}
  ${'cgroupfs, dots within a name'} | ${'/kubepods/pod1/..c1/c.1'}                       | ${'/kubepods/pod1/..c1/c.1'}
  ${'systemd, Guaranteed'}          | ${`kubepods-pod${POD}.slice:cri-containerd:c1`}    | ${`/kubepods.slice/kubepods-pod${POD}.slice/cri-containerd-c1.scope`}
  ${'systemd, Burstable, CRI-O'}    | ${`kubepods-burstable-pod${POD}.slice:crio:c1`}    | ${`/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod${POD}.slice/crio-c1.scope`}
  ${'systemd, nested node'}         | ${'kubelet-kubepods-podx.slice:cri-containerd:c1'} | ${'/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-podx.slice/cri-containerd-c1.scope'}
  ${'systemd, slice with a dot'}    | ${'a.b-c.slice:p:n'}                               | ${'/a.b.slice/a.b-c.slice/p-n.scope'}
  ${'systemd, default slice'}       | ${':cri-containerd:c1'}                            | ${'/system.slice/cri-containerd-c1.scope'}
  ${'systemd, root slice'}          | ${'-.slice:cri-containerd:c1'}                     | ${'/cri-containerd-c1.scope'}
  ${'systemd, a slice as unit'}     | ${'kubepods.slice:ignored:kubepods-x.slice'}       | ${'/kubepods.slice/kubepods-x.slice'}
  ${'systemd, no prefix'}           | ${'kubepods.slice::c1'}                            | ${'/kubepods.slice/c1.scope'}
`('$driver: $cgroupsPath', ({ cgroupsPath, path }) => {
  expect(show(cgroupsPath)).toBe(path);
});

test.each`
  name                                          | cgroupsPath                     | why
  ${'an empty path'}                            | ${''}                           | ${'it is empty'}
  ${'the root directory'}                       | ${'/'}                          | ${'it is the root of the hierarchy'}
  ${'the root directory, with doubled slashes'} | ${'///'}                        | ${'it is the root of the hierarchy'}
  ${'a path with ..'}                           | ${'/kubepods/../../etc'}        | ${'"." or ".."'}
  ${'a path with .. at the end'}                | ${'/kubepods/..'}               | ${'"." or ".."'}
  ${'a path with .'}                            | ${'/kubepods/./c1'}             | ${'"." or ".."'}
  ${'a relative path'}                          | ${'kubepods/pod1/c1'}           | ${'neither an absolute path nor'}
  ${'a name alone'}                             | ${'c1'}                         | ${'neither an absolute path nor'}
  ${'two parts'}                                | ${'kubepods.slice:c1'}          | ${'neither an absolute path nor'}
  ${'four parts'}                               | ${'kubepods.slice:a:b:c'}       | ${'neither an absolute path nor'}
  ${'a slice without .slice'}                   | ${'kubepods:cri-containerd:c1'} | ${'"kubepods" is no name of a slice'}
  ${'a slice of only .slice'}                   | ${'.slice:cri-containerd:c1'}   | ${'".slice" is no name of a slice'}
  ${'a slice with --'}                          | ${'kubepods--podx.slice:p:c1'}  | ${'is no name of a slice'}
  ${'a slice that begins with -'}               | ${'-kubepods.slice:p:c1'}       | ${'is no name of a slice'}
  ${'a slice that ends with -'}                 | ${'kubepods-.slice:p:c1'}       | ${'is no name of a slice'}
  ${'a slice with a slash'}                     | ${'a/../b.slice:p:c1'}          | ${'names of systemd units have no slash'}
  ${'a prefix with a slash'}                    | ${'a.slice:../..:c1'}           | ${'names of systemd units have no slash'}
  ${'a name with a slash'}                      | ${'a.slice:p:../c1'}            | ${'names of systemd units have no slash'}
  ${'no name'}                                  | ${'a.slice:p:'}                 | ${'the name of the unit is empty'}
  ${'a zero byte'}                              | ${'/kubepods/c1\0'}             | ${'control characters'}
  ${'a line feed'}                              | ${'/kubepods/c1\n'}             | ${'control characters'}
  ${'a very long text'}                         | ${`/${'x'.repeat(5000)}`}       | ${'longer than 4096'}
`('$name is refused', ({ cgroupsPath, why }) => {
  expect(show(cgroupsPath)).toContain(`cannot be used: `);
  expect(show(cgroupsPath)).toContain(why);
  expect(show(cgroupsPath).length).toBeLessThan(320);
});

test('the result for a random path stays below the root', () => {
  const piece = fc.constantFrom('/', ':', '-', '.', '..', '.slice', 'a', 'pod1', '\0', ' ', '%2e');
  const text = fc
    .tuple(
      fc.constantFrom('', '/', 'a-b.slice:', 'a.slice:p:'),
      fc.array(fc.oneof(piece, fc.string()), { maxLength: 8 }),
    )
    .map(([start, parts]) => start + parts.join(''));
  let paths = 0;
  fc.assert(
    fc.property(text, (cgroupsPath) => {
      const result = cgroupPathOf(cgroupsPath);
      if (result.kind === 'refused') return;
      paths++;
      expect(result.path).toMatch(/^(\/[^/\0]+)+$/);
      expect(result.path.split('/')).not.toContain('..');
      expect(result.path.split('/')).not.toContain('.');
    }),
    { seed: 11, numRuns: 5000 },
  );
  expect(paths).toBeGreaterThan(200);
});

test.each`
  driver                 | cgroupParent                             | path
  ${'cgroupfs'}          | ${'/kubepods/burstable/pod1-2'}          | ${'/kubepods/burstable/pod1-2'}
  ${'systemd'}           | ${`kubepods-burstable-pod${POD}.slice`}  | ${`/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod${POD}.slice`}
  ${'a slice as a path'} | ${`/kubepods.slice/kubepods-podx.slice`} | ${`/kubepods.slice/kubepods-podx.slice`}
`('the parent of a pod, $driver: $cgroupParent', ({ cgroupParent, path }) => {
  expect(cgroupPathOfParent(cgroupParent as string)).toEqual({ kind: 'path', path });
});

test.each`
  name                      | cgroupParent
  ${'empty'}                | ${''}
  ${'the root'}             | ${'/'}
  ${'a path with ..'}       | ${'/kubepods/../..'}
  ${'a relative path'}      | ${'kubepods/pod1'}
  ${'a slice with --'}      | ${'kubepods--pod1.slice'}
  ${'more than a slice'}    | ${'a:b:c.slice'}
  ${'a slice with a slash'} | ${'../kubepods.slice'}
`('the parent of a pod is refused: $name', ({ cgroupParent }) => {
  expect(cgroupPathOfParent(cgroupParent as string).kind).toBe('refused');
});
