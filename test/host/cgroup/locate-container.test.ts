import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { openCgroups, type ContainerToLocate, type Located } from '../../../src/host';

const ID = 'c0ffee'.padEnd(64, '0');
const OTHER = 'bad'.padEnd(64, '0');
const UNIT = `kubepods-burstable-pod1.slice:cri-containerd:${ID}`;
const SCOPE = `/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice/cri-containerd-${ID}.scope`;

let root: string;
beforeEach(() => (root = mkdtempSync(join(tmpdir(), 'locate-'))));
afterEach(() => rmSync(root, { recursive: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

/** Locates a container on a machine of version 2 with these cgroups; `process` is the text of /proc/7/cgroup. */
function locate(
  cgroups: readonly string[],
  { process, ...container }: Partial<ContainerToLocate> & { readonly process?: string } = {},
): Located {
  write('cgroup/cgroup.controllers', 'cpuset cpu');
  for (const cgroup of cgroups) mkdirSync(join(root, 'cgroup', cgroup), { recursive: true });
  if (process !== undefined) write('proc/7/cgroup', process);
  return openCgroups({ cgroupRoot: join(root, 'cgroup'), procRoot: join(root, 'proc') }).locate({
    id: ID,
    cgroupsPath: UNIT,
    ...(process !== undefined && { pid: 7 }),
    ...container,
  });
}

const at = (path: string, expected?: string) => ({ kind: 'found', path, cpuPath: path, ...(expected && { expected }) });

test.each<[string, string, string | undefined, object]>([
  ['its scope, without a process', SCOPE, undefined, at(SCOPE)],
  ['its scope, with its process', SCOPE, `0::${SCOPE}\n`, at(SCOPE)],
  ['its process in a cgroup that it made itself', `${SCOPE}/init`, `0::${SCOPE}/init\n`, at(SCOPE)],
  ['one directory of that name in the root', `/${UNIT}`, undefined, at(`/${UNIT}`, SCOPE)],
  ['one directory beside the runtime', `/system.slice/${UNIT}`, undefined, at(`/system.slice/${UNIT}`, SCOPE)],
  ['below a name that is not ASCII', `/büro/${UNIT}`, `0::/büro/${UNIT}\n`, at(`/büro/${UNIT}`, SCOPE)],
  ['anywhere, as its process says', `/x/y/${UNIT}`, `0::/x/y/${UNIT}\n`, at(`/x/y/${UNIT}`, SCOPE)],
])('a container of a systemd kubelet is found: %s', (_name, cgroup, process, found) => {
  expect(locate([cgroup], process === undefined ? {} : { process })).toEqual(found);
});

test.each<[string, string]>([
  ['another container', `0::/kubepods/pod2/${OTHER}\n`],
  ['no container', '0::/system.slice/sshd.service\n'],
  ['a path that leaves the namespace', `0::/../../${UNIT}\n`],
  ['a cgroup that was removed', `0::/x/${ID}\n`],
  ['the id inside of another name', `0::/x/${ID}0\n`],
  ['a text that is no such file', 'nothing\n'],
  ['the hierarchy of another version', `3:cpuset:/x/${ID}\n`],
])('a process whose file names %s says nothing: the path goes by its name', (_name, process) => {
  expect(locate([SCOPE, `/x/${ID}0`], { process })).toEqual(at(SCOPE));
});

test('the kernel’s word counts more than a directory of the right name', () => {
  expect(locate([SCOPE, `/${UNIT}`], { process: `0::/${UNIT}\n` })).toEqual(at(`/${UNIT}`, SCOPE));
});

test('the first element of the container’s name counts, whatever it made below', () => {
  const inner = `/kubepods/pod1/${ID}/kubepods/pod9/${ID}`;
  const cgroupsPath = `/kubepods/pod1/${ID}`;
  expect(locate([inner], { cgroupsPath, process: `0::${inner}\n` })).toEqual(at(cgroupsPath));
});

test.each<[string, string, string]>([
  [
    'slice:prefix:name',
    UNIT,
    `its cgroup is not at ${SCOPE}, nor at /${UNIT}; kubelet and runtime seem to use different cgroup drivers`,
  ],
  [
    'an absolute path',
    `/kubepods/pod1/${ID}`,
    `its cgroup is not at /kubepods/pod1/${ID}; the runtime keeps it elsewhere, as one that runs virtual machines does`,
  ],
])('a container that is not there: %s', (_name, cgroupsPath, because) => {
  expect(locate(['/kubepods'], { cgroupsPath })).toEqual({ kind: 'absent', because });
});

test.each(['', '/kubepods/../x', 'a\nb.slice:cri:c', '../x.slice:cri:c', '/'])(
  'the path %j is refused',
  (cgroupsPath) => {
    expect(locate(['/x'], { cgroupsPath })).toMatchObject({ kind: 'refused' });
  },
);

test('on version 1 the hierarchies may have it at different places', () => {
  write('cgroup/cpuset/cpuset.cpus', '0-1');
  write('cgroup/cpuset/tasks', '');
  mkdirSync(join(root, `cgroup/cpuset/${UNIT}`));
  const process = `5:cpu,cpuacct:/system.slice/containerd.service/${UNIT}\n3:cpuset:/${UNIT}\n0::/system.slice\n`;
  expect(locate([], { process })).toEqual({
    kind: 'found',
    path: `/${UNIT}`,
    cpuPath: `/system.slice/containerd.service/${UNIT}`,
    expected: SCOPE,
  });
});
