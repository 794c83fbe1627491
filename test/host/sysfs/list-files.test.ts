import { listSysfsFiles, readTopology } from '../../../src/host';
import { loadMachine, withSysfs } from '../../support/sysfs-tree';

test.each(['host-2cpu', '2x4x2-2numa-offline', '2x8x2-4numa-snc', '1x16x2-4l3-ccx', '2x4x1-memless-cpuless'])(
  'the files of %s make the same machine again',
  (name) => {
    const [files, topology] = withSysfs(
      loadMachine(name),
      (sysfsRoot) => [listSysfsFiles(sysfsRoot), readTopology({ sysfsRoot })] as const,
    );
    const again = withSysfs(files, (sysfsRoot) => readTopology({ sysfsRoot }));
    expect(again.cpus.length).toBeGreaterThan(1);
    expect(again).toEqual(topology);
  },
);

test('a folder that is no sysfs has none', () => {
  expect(listSysfsFiles('/nowhere')).toEqual({});
});
