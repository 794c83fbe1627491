import { parseCpuList } from '../../../src/core/cpuset';
import { readOffline, readOnline, SysfsError } from '../../../src/host';
import { withSysfs } from '../../support/sysfs-tree';

test.each`
  name                                              | present      | online   | want
  ${'present CPUs that are not online are offline'} | ${'0-7\n'}   | ${'0-5'} | ${'6-7'}
  ${'all present CPUs are online: none is offline'} | ${'0-5\n'}   | ${'0-5'} | ${''}
  ${'the kernel does not list present CPUs: none'}  | ${undefined} | ${'0-5'} | ${''}
`('$name', ({ present, online, want }) => {
  const tree = present === undefined ? {} : { 'sys/devices/system/cpu/present': present as string };
  withSysfs(tree, (sysfsRoot) => {
    expect(readOffline(sysfsRoot, parseCpuList(online as string)).toString()).toBe(want);
  });
});

test.each`
  name                                   | tree                                           | error
  ${'the list of online CPUs is empty'}  | ${{ 'sys/devices/system/cpu/online': '\n' }}   | ${/online: the list is empty; at least one CPU is online/}
  ${'there is no list of online CPUs'}   | ${{}}                                          | ${/online: no such file/}
  ${'the list of online CPUs is broken'} | ${{ 'sys/devices/system/cpu/online': '0-\n' }} | ${/online: read "0-"; a list like 0-3,8 is expected/}
`('$name: an error that names the file', ({ tree, error }) => {
  withSysfs(tree as Record<string, string>, (sysfsRoot) => {
    expect(() => readOnline(sysfsRoot)).toThrow(SysfsError);
    expect(() => readOnline(sysfsRoot)).toThrow(error as RegExp);
  });
});
