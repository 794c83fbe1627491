import { viewMachine } from '../../../src/admin/machine/machine-view';
import { readWholeMachine } from '../../../src/cli/machine/read-machine';
import { formatCpus } from '../../../src/cli/topology/describe-cpus';
import { formatPicture } from '../../../src/cli/topology/draw-map';
import { describeMachine } from '../../../src/admin/machine/describe-machine';
import { changeTree, loadMachine, withSysfs } from '../../support/sysfs-tree';

test('given a live machine with offline CPUs, they are in the table, the map and the object', () => {
  const tree = changeTree(loadMachine('2x4x2-2numa-offline'), { 'cpu/present': '0-15' });
  const { topology, offline } = withSysfs(tree, (root) => readWholeMachine('live', root));
  expect(offline.isEmpty).toBe(false);
  const view = viewMachine(topology, offline);
  const rows = formatCpus(view)
    .split('\n')
    .filter((line) => line.includes('offline'))
    .map((line) => line.trim().split(/\s+/)[0]);
  expect(rows.join()).toBe(offline.toArray().join());
  expect(formatPicture(view)).toMatch(new RegExp(`offline +${offline.toString()}`));
  expect(describeMachine(view)).toMatchObject({ offline });
});
