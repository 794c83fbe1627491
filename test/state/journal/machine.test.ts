import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseCpuList } from '../../../src/core/cpuset';
import { confineTopology } from '../../../src/core/topology';
import { readTopology } from '../../../src/host';
import { describeMachine, readMachineRecord } from '../../../src/state/journal';
import { MAX_LINE_BYTES } from '../../../src/state/journal/record';
import { build } from '../../cli/topology/machines';
import { unusualMachine } from '../../support/small-machine';
import { loadMachine, withSysfs } from '../../support/sysfs-tree';

const FIXTURES = join(__dirname, '../../fixtures/sysfs');
const names = readdirSync(FIXTURES).flatMap((name) =>
  /^(.*)\.json$/.exec(name)?.[1] ? [name.replace(/\.json$/, '')] : [],
);

test.each(names)('the machine %s is the same after it was in a record', (name) => {
  const topology = withSysfs(loadMachine(name), (sysfsRoot) => readTopology({ sysfsRoot }));
  expect(readMachineRecord(JSON.parse(JSON.stringify(describeMachine(topology))))).toEqual(topology);
});

test('kinds of cores, clusters and memory of devices are kept', () => {
  const topology = withSysfs(unusualMachine(), (sysfsRoot) =>
    readTopology({ sysfsRoot, procRoot: join(sysfsRoot, '../proc') }),
  );
  expect([topology.coreKinds.length, topology.uncoreCaches[0]!.level, topology.memoryNodes[3]!.isOfGpu]).toEqual([2, 'cluster', true]); // prettier-ignore
  const again = readMachineRecord(JSON.parse(JSON.stringify(describeMachine(topology))));
  expect(topology.ignored).not.toEqual([]);
  expect(again).toEqual({ ...topology, ignored: [] });
});

test('huge pages are kept', () => {
  const tree = loadMachine('2x4x2-2numa');
  const path = '/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages';
  const topology = withSysfs({ ...tree, [path]: '64\n' }, (sysfsRoot) => readTopology({ sysfsRoot }));
  expect(topology.memoryNodes[1]!.hugePages).toEqual({ 'hugepages-2Mi': 2 ** 27 });
  expect(readMachineRecord(JSON.parse(JSON.stringify(describeMachine(topology))))).toEqual(topology);
});

test('a record without them, of an older version, is read', () => {
  const topology = withSysfs(loadMachine('2x4x1-memless-cpuless'), (sysfsRoot) => readTopology({ sysfsRoot }));
  const record = describeMachine(topology);
  const older = { ...record, memoryNodes: record.memoryNodes.map(({ cpus: _cpus, ...node }) => node) };
  expect(readMachineRecord(JSON.parse(JSON.stringify(older)))).toEqual(topology);
});

test('a machine of which the node may use a part is the same after it was in a record', () => {
  const topology = confineTopology(build(2, 1, 4, 2, 1), { cgroup: '/kubepods', cpus: parseCpuList('0-5,90') });
  const read = readMachineRecord(JSON.parse(JSON.stringify(describeMachine(topology))));
  expect(read).toEqual(topology);
  expect(read?.confinement?.machine.online.toString()).toBe('0-15');
});

test('there are machines to try', () => expect(names.length).toBeGreaterThan(10));

test('a machine of 4,096 CPUs fits into a line', () => {
  const topology = build(8, 2, 16, 8, 2);
  expect(topology.online.size).toBe(4_096);
  const text = JSON.stringify(describeMachine(topology));
  expect(Buffer.byteLength(text)).toBeLessThan(MAX_LINE_BYTES - 4_096);
  expect(readMachineRecord(JSON.parse(text))).toEqual(topology);
});

test.each([
  ['nothing', undefined],
  ['a text', 'cores'],
  ['no units', {}],
  ['a CPU without a socket', { ...describeMachine(build(1, 1, 1, 2, 1)), sockets: [] }],
  ['units that are no pairs', { ...describeMachine(build(1, 1, 1, 2, 1)), cores: [7] }],
  ['a list that is none', { ...describeMachine(build(1, 1, 1, 2, 1)), cores: [[0, 'x']] }],
  ['a bound without a cgroup', { ...describeMachine(build(1, 1, 1, 2, 1)), bound: { cpus: '0' } }],
  ['no CPU at all', { ...describeMachine(build(1, 1, 1, 2, 1)), cores: [] }],
  [
    'wrong distances',
    { ...describeMachine(build(1, 1, 1, 2, 1)), memoryNodes: [{ id: 0, memoryBytes: 1, distances: [[0]] }] },
  ],
])('%s is no machine', (_what, value) => {
  expect(readMachineRecord(value)).toBeUndefined();
});
