import { CpuSet } from '../../core/cpuset';
import { formatTable } from '../format/table';
import { formatMemory } from './draw-map';
import { PLAIN_MARKS, type MachineView, type Owner } from './machine-view';
import { plural } from '../../core/text';

/** What the machine has, in a line, and what the map cannot show. */
export function summarize({ topology, rest }: MachineView): string {
  const { cpus, sockets, numaNodes, uncoreCaches, cores } = topology;
  const units = [
    plural(sockets.length, 'socket'),
    plural(numaNodes.length, 'NUMA node'),
    plural(uncoreCaches.length, 'uncore cache'),
    plural(cores.length, 'core'),
  ];
  const free = rest === undefined ? '' : `; ${rest.free.size} free`;
  return `${plural(cpus.length, 'CPU')} online in ${units.join(', ')}${free}\n`;
}

/** What each mark means, and whose the CPUs are. Empty where nobody was asked. */
export function formatLegend(view: MachineView): string {
  const { owners, rest, offline, topology } = view;
  if (!rest) return '';
  const owned = CpuSet.unionOf(owners.map(({ cpus }) => cpus));
  const reserved = rest.reserved.intersect(topology.online).minus(owned);
  const shared = rest.sharedPool.minus(owned).minus(reserved);
  const rows = [
    ...owners.map((owner) => describeOwner(view, owner)),
    [PLAIN_MARKS.shared, 'shared', listOrCount(shared), 'everybody else'],
    [
      PLAIN_MARKS.reserved,
      'reserved',
      listOrCount(reserved),
      rest.strict ? 'the system alone' : 'the system; shared containers run here too',
    ],
    [PLAIN_MARKS.offline, 'offline', listOrCount(offline), 'nobody'],
  ];
  return formatTable(
    ['', 'USE', 'CPUS', 'WHO'],
    rows.filter(([mark, , cpus]) => mark === '' || cpus !== ''),
  );
}

/** Remarks below the legend, each a line. */
export function listRemarks({ topology }: MachineView): string {
  const { isolated, memoryNodes, numaNodes } = topology;
  const withCpus = new Set(numaNodes.map(({ id }) => id));
  return [
    ...(isolated.isEmpty ? [] : [`The kernel's scheduler keeps away from ${isolated.toString()} (isolcpus).\n`]),
    ...memoryNodes
      .filter(({ id, memoryBytes }) => !withCpus.has(id) && memoryBytes > 0)
      .map(({ id, memoryBytes }) => `NUMA node ${id} has ${formatMemory(memoryBytes)} and no CPU.\n`),
  ].join('');
}

function describeOwner({ offline }: MachineView, owner: Owner): string[] {
  const { mark, kind, isIdle, isPlanned, cpus, nodes, namespace, pod, containers } = owner;
  const lost = cpus.intersect(offline);
  const notes = [
    ...(isPlanned ? ['not created yet'] : isIdle ? ['idle until its pod goes'] : []),
    ...(kind === 'immovable' ? ['shared containers run here too'] : []),
    ...(kind === 'numa' ? [`what is shared on NUMA ${nodes.size === 1 ? 'node' : 'nodes'} ${nodes.toString()}`] : []),
    ...(lost.isEmpty ? [] : [`${lost.toString()} offline`]),
  ];
  const who = `${namespace}/${pod} ${containers.join(', ')}`;
  return [mark, isIdle ? 'idle' : kind, listOrCount(cpus), [who, ...notes].join('; ')];
}

const LONGEST_LIST = 32;

/** The list, as long as it is short: the picture is exact anyway. */
function listOrCount(cpus: CpuSet): string {
  const list = cpus.toString();
  return list.length <= LONGEST_LIST ? list : plural(cpus.size, 'CPU');
}
