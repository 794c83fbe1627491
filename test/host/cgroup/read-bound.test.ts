import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { kubepodsOfKubelet } from '../../../src/core/inference/kubepods';
import { openCgroups } from '../../../src/host';

// Both cgroup versions in plain folders.

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'bound-'))));
afterEach(() => rmSync(folder, { recursive: true }));

type Tree = Readonly<Record<string, string | undefined>>;

/** `tree`: the effective CPUs of cgroups; undefined for one without cpusets. */
function readBound(version: 1 | 2, tree: Tree, driver: 'systemd' | 'cgroupfs' = 'cgroupfs', cgroupRoot = ''): string {
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), `${text}\n`);
  };
  if (version === 1) ['cpuset/cpuset.cpus', 'cpuset/tasks'].forEach((name) => write(name, ''));
  else write('cgroup.controllers', 'cpuset cpu');
  for (const [cgroup, cpus] of Object.entries(tree)) {
    const directory = version === 1 ? `cpuset${cgroup}` : cgroup;
    mkdirSync(join(folder, directory), { recursive: true });
    if (cpus !== undefined)
      write(join(directory, version === 1 ? 'cpuset.effective_cpus' : 'cpuset.cpus.effective'), cpus);
  }
  const [kubepods] = kubepodsOfKubelet({ cgroupDriver: driver, cgroupRoot });
  const reading = openCgroups({ cgroupRoot: folder }).readBound(kubepods!);
  if (reading.kind !== 'found') return reading.errno;
  return `${reading.cgroup} ${reading.cpus.toString()}${reading.unread === undefined ? '' : `, not all read: ${reading.unread.replace(folder, '')}`}`;
}

test.each<[string, 1 | 2, Tree, string]>([
  ['the root of the pods is not there yet: the root of the hierarchy', 2, { '/': '0-7' }, '/ 0-7'],
  ['it has all that its parent has: the outermost is named', 2, { '/': '0-7', '/kubepods': '0-7' }, '/ 0-7'],
  ['it is narrower', 2, { '/': '0-11', '/kubepods': '0-7' }, '/kubepods 0-7'],
  ['a root without the controller', 2, { '/': '0-7', '/kubepods': undefined }, '/ 0-7'],
  [
    'a class of pods is narrower: its pods start all the same',
    2,
    { '/': '0-7', '/kubepods': '0-7', '/kubepods/burstable': '0' },
    '/ 0-7',
  ],
  ['no cgroup has a list', 2, {}, 'ENOENT'],
  ['text that is no list', 2, { '/': '0-7', '/kubepods': 'all' }, 'EBADMSG'],
  ['version 1: the root of the hierarchy', 1, { '/': '0-7' }, '/ 0-7'],
  ['version 1: the root of the pods has no CPUs yet', 1, { '/': '0-7', '/kubepods': '' }, '/ 0-7'],
  ['version 1: it is narrower', 1, { '/': '0-7', '/kubepods': '0-3' }, '/kubepods 0-3'],
  [
    'version 1: a class has lost a CPU',
    1,
    { '/': '0-7', '/kubepods': '0-7', '/kubepods/burstable': '0-6', '/kubepods/besteffort': '0-7' },
    '/kubepods/burstable 0-6',
  ],
  [
    'version 1: a class that can’t be read hides neither the root nor the other class',
    1,
    { '/': '0-7', '/kubepods': '0-6', '/kubepods/burstable': 'all', '/kubepods/besteffort': '0-5' },
    '/kubepods/besteffort 0-5, not all read: /cpuset/kubepods/burstable/cpuset.effective_cpus: read "all"; a list like 0-3,8 is expected',
  ],
  [
    'version 1: both classes have lost CPUs',
    1,
    { '/': '0-7', '/kubepods': '0-7', '/kubepods/burstable': '0-6', '/kubepods/besteffort': '1-7' },
    '/kubepods/besteffort 1-6',
  ],
  [
    'version 1: a class has no CPUs yet',
    1,
    { '/': '0-7', '/kubepods': '0-3', '/kubepods/besteffort': '' },
    '/kubepods 0-3',
  ],
])('%s', (_name, version, tree, want) => expect(readBound(version, tree)).toBe(want));

test.each([
  [1, '/a.slice/a-kubepods.slice/a-kubepods-besteffort.slice 0-5'],
  [2, '/a.slice 0-6'],
] as const)('below a cgroup of the operator, with slices, version %i', (version, want) => {
  const root = '/a.slice/a-kubepods.slice';
  const tree = { '/': '0-7', '/a.slice': '0-6', [root]: '0-6', [`${root}/a-kubepods-besteffort.slice`]: '0-5' };
  expect(readBound(version, tree, 'systemd', '/a')).toBe(want);
});
