import { parseCpuList } from '../../../src/core/cpuset';
import { readOffline, readOnline, SysfsError } from '../../../src/host';
import { withSysfs } from '../../support/sysfs-tree';

test.each`
  name                                              | present      | online   | want
  ${'present CPUs that are not online are offline'} | ${'0-7\n'}   | ${'0-5'} | ${'6-7'}
  ${'all present CPUs online: none is offline'}     | ${'0-5\n'}   | ${'0-5'} | ${''}
  ${'no list of present CPUs: none is offline'}     | ${undefined} | ${'0-5'} | ${''}
`('$name', ({ present, online, want }) => {
  const tree = present === undefined ? {} : { 'sys/devices/system/cpu/present': present as string };
  withSysfs(tree, (sysfsRoot) => {
    expect(readOffline(sysfsRoot, parseCpuList(online as string)).toString()).toBe(want);
  });
});

test.each`
  name                              | tree                                           | error
  ${'an empty list of online CPUs'} | ${{ 'sys/devices/system/cpu/online': '\n' }}   | ${/online: the list is empty; at least one CPU is online/}
  ${'no list of online CPUs'}       | ${{}}                                          | ${/online: no such file/}
  ${'a broken list of online CPUs'} | ${{ 'sys/devices/system/cpu/online': '0-\n' }} | ${/online: read "0-"; a list like 0-3,8 is expected/}
`('$name is an error that names the file', ({ tree, error }) => {
  withSysfs(tree as Record<string, string>, (sysfsRoot) => {
    expect(() => readOnline(sysfsRoot)).toThrow(SysfsError);
    expect(() => readOnline(sysfsRoot)).toThrow(error as RegExp);
  });
});
