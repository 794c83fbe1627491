import { join } from 'node:path';

import { parseCpuList } from '../../../src/core/cpuset';
import { readUncoreCaches } from '../../../src/host/sysfs/read-uncore-caches';
import { SysfsError } from '../../../src/host/sysfs/read-file';
import { withSysfs } from '../../support/sysfs-tree';

/** The cache of CPUs 0-3 on one socket, given the L3 of some CPUs as `list id`. */
function read(l3: Readonly<Record<number, string>>): Record<number, number> {
  const tree = Object.fromEntries(
    Object.entries(l3).flatMap(([cpu, text]) => {
      const [list = '', id] = text.split(' ');
      const index = `/sys/devices/system/cpu/cpu${cpu}/cache/index3`;
      return [
        [`${index}/level`, '3\n'],
        [`${index}/shared_cpu_list`, `${list}\n`],
        ...(id === undefined ? [] : [[`${index}/id`, `${id}\n`]]),
      ] as [string, string][];
    }),
  );
  const online = parseCpuList('0-3');
  const socketOf = new Map(online.toArray().map((cpu) => [cpu, 9]));
  return withSysfs(tree, (root) =>
    Object.fromEntries(readUncoreCaches(join(root, 'devices/system/cpu'), online, socketOf)),
  );
}

test.each([
  ['distinct ids of the kernel are kept', { 0: '0-1 4', 2: '2-3 6' }, { 0: 4, 1: 4, 2: 6, 3: 6 }],
  ['equal ids are replaced by the lowest CPU', { 0: '0-1 7', 2: '2-3 7' }, { 0: 0, 1: 0, 2: 2, 3: 2 }],
  ['groups without id have that of the lowest CPU', { 0: '0-1', 2: '2-3' }, { 0: 0, 1: 0, 2: 2, 3: 2 }],
  ['without any L3 the socket is the group', {}, { 0: 9, 1: 9, 2: 9, 3: 9 }],
  ['CPUs without L3 are one group of their socket', { 0: '0-1 4' }, { 0: 4, 1: 4, 2: 9, 3: 9 }],
])('%s', (_name, l3, want) => {
  expect(read(l3)).toEqual(want);
});

test('an L3 that overlaps another is an error', () => {
  expect(() => read({ 0: '0-2', 3: '2-3' })).toThrow(SysfsError);
});
