import { formatCpus } from '../../../src/cli/topology/describe-cpus';
import { formatLegend, formatMemory, listRemarks, summarize } from '../../../src/cli/topology/legend';
import { describeMachine } from '../../../src/admin/machine/describe-machine';
import { viewMachine, viewStatus } from '../../../src/admin/machine/machine-view';
import { parseCpuList } from '../../../src/core/cpuset';
import { buildTopology, confineTopology } from '../../../src/core/topology';
import { build, statusOf, without } from './machines';

const EIGHT = build(1, 1, 1, 4, 2);

test('summarize counts the units, and the free CPUs where a daemon runs', () => {
  const units = '8 CPUs online in 1 socket, 1 NUMA node, 1 uncore cache, 4 cores';
  expect(summarize(viewMachine(EIGHT))).toBe(`${units}\n`);
  expect(summarize(viewStatus(statusOf({ topology: EIGHT, reserved: '0', owners: ['a/c 1-2'] })))).toBe(
    `worker-1: ${units}; 5 free\n`,
  );
});

test('the node is named where the daemon knows its name, for people and for programs', () => {
  const { node, ...machine } = statusOf({ topology: EIGHT, reserved: '0', owners: [] });
  const { nodeName, ...nameless } = node;
  const [named, unnamed] = [node, nameless].map((each) => viewStatus({ ...machine, node: each }));
  expect(describeMachine(named!)).toMatchObject({ nodeName });
  expect(describeMachine(unnamed!)).not.toHaveProperty('nodeName');
  expect(summarize(named!)).toBe(`${nodeName!}: ${summarize(unnamed!)}`);
});

test('the legend has a row for each owner, and for shared, reserved and offline CPUs', () => {
  const scene = { topology: without(EIGHT, '7'), offline: '7', reserved: '0', owners: ['a/c 1-2', 'b/i 3 idle'] };
  const rows = formatLegend(viewStatus(statusOf(scene)))
    .trimEnd()
    .split('\n');
  expect(rows.map((row) => row.split(/ {2,}/).map((cell) => cell.trim()))).toEqual([
    ['', 'USE', 'CPUS', 'WHO'],
    ['A', 'static', '1-2', 'default/a c'],
    ['b', 'idle', '3', 'default/b i; idle until its pod goes'],
    ['.', 'shared', '4-6', 'everybody else'],
    ['#', 'reserved', '0', 'the system; shared containers run here too'],
    ['x', 'offline', '7', 'nobody'],
  ]);
});

test('a machine without a daemon has no legend', () => {
  expect(formatLegend(viewMachine(EIGHT))).toBe('');
});

test('remarks name isolated CPUs and memory without CPUs', () => {
  const cpus = EIGHT.cpus;
  const topology = buildTopology({
    cpus,
    isolated: EIGHT.cores[1]!.cpus,
    memoryNodes: [{ id: 4, memoryBytes: 2 ** 30, distances: new Map() }],
  });
  expect(listRemarks(viewMachine(topology))).toBe(
    "The kernel's scheduler keeps away from 1,5 (isolcpus).\nNUMA node 4 has 1 GiB and no CPU.\n",
  );
});

describe('of a machine of which this node has CPUs 0-3 only', () => {
  // Eight CPUs in two caches of one thread each, the last one slower.
  const whole = buildTopology({
    cpus: Array.from({ length: 8 }, (_, id) => ({ id, core: id, socket: 0, numaNode: 0, uncoreCache: id >> 2 })),
    coreKinds: [
      { name: 'performance', cpus: parseCpuList('0-3') },
      { name: 'efficiency', cpus: parseCpuList('4-7') },
    ],
  });
  const view = viewMachine(confineTopology(whole, { cgroup: '/lxc', cpus: parseCpuList('0-3') }));

  test('all is counted', () => {
    expect(summarize(view)).toBe('8 CPUs online in 1 socket, 1 NUMA node, 2 uncore caches, 8 cores; 4 barred\n');
  });

  test('all kinds of cores are named', () => {
    expect(listRemarks(view)).toBe('Kinds of cores: performance cores 0-3, efficiency cores 4-7.\n');
    expect(describeMachine(view)).toMatchObject({ coreKinds: whole.coreKinds, uncoreCaches: whole.uncoreCaches });
    expect(formatCpus(view)).toMatch(/^7 .* efficiency +barred/m);
  });
});

test.each([
  [2 ** 33, '8 GiB'],
  [2 ** 29, '512 MiB'],
])('formatMemory of %d bytes is %s', (bytes, text) => {
  expect(formatMemory(bytes)).toBe(text);
});
