import { CpuSet } from '../../core/cpuset';
import { formatTable } from '../format/table';
import { OWNER_TONES, PLAIN, type Terminal, type Tone } from '../format/terminal';
import { PLAIN_MARKS, type MachineView, type Owner } from '../../admin/machine/machine-view';
import { showText } from '../../core/show-text';
import { plural } from '../../core/text';
import { barredCpus, countCaches, describeKinds, machineOf } from '../../core/topology';

/** The machine in one line: the name of the node, what it has, and the number of free CPUs. */
export function summarize({ nodeName, topology, unowned }: MachineView): string {
  const machine = machineOf(topology);
  const { cpus, sockets, numaNodes, cores } = machine;
  const barred = barredCpus(topology);
  const units = [
    plural(sockets.length, 'socket'),
    plural(numaNodes.length, 'NUMA node'),
    countCaches(machine),
    plural(cores.length, 'core'),
  ];
  const free = unowned === undefined ? '' : `; ${unowned.free.size} free`;
  const part = barred.isEmpty ? '' : `; ${barred.size} barred`;
  const name = nodeName === undefined ? '' : `${showText(nodeName)}: `;
  return `${name}${plural(cpus.length, 'CPU')} online in ${units.join(', ')}${part}${free}\n`;
}

/** The meaning of each mark, and the owners of the CPUs. Of a machine alone there is only what is offline. */
export function formatLegend(view: MachineView, terminal: Terminal = PLAIN): string {
  const { owners, unowned, offline, topology } = view;
  const offlineRow = [PLAIN_MARKS.offline, 'offline', listOrCount(offline), 'nobody'];
  if (!unowned) return offline.isEmpty ? '' : formatTable(['', 'USE', 'CPUS', 'WHO'], [offlineRow], { terminal });
  const owned = CpuSet.unionOf(owners.map(({ cpus }) => cpus));
  const reserved = unowned.reserved.intersect(topology.online).minus(owned);
  const shared = unowned.sharedPool.minus(owned).minus(reserved);
  const rows = [
    ...owners.map((owner) => describeOwner(view, owner)),
    [PLAIN_MARKS.shared, 'shared', listOrCount(shared), 'everybody else'],
    [
      PLAIN_MARKS.reserved,
      'reserved',
      listOrCount(reserved),
      unowned.strict ? 'the system alone' : 'the system; shared containers run here too',
    ],
    offlineRow,
    [
      PLAIN_MARKS.barred,
      'barred',
      listOrCount(barredCpus(topology)),
      `not in the cgroup ${topology.confinement?.bound.cgroup ?? ''}`,
    ],
  ];
  return formatTable(
    ['', 'USE', 'CPUS', 'WHO'],
    rows.filter(([mark, , cpus]) => mark === '' || cpus !== ''),
    { terminal, toneOf: (cell, title) => (title === '' ? toneOfMark(view, cell) : undefined) },
  );
}

/** Remarks below the legend, each a line. */
export function listRemarks(view: Pick<MachineView, 'topology'>): string {
  const topology = machineOf(view.topology);
  const { isolated, memoryNodes, coreKinds } = topology;
  return [
    ...(coreKinds.length === 0 ? [] : [`Kinds of cores: ${describeKinds(topology)}.\n`]),
    ...(isolated.isEmpty ? [] : [`The kernel's scheduler keeps away from ${isolated.toString()} (isolcpus).\n`]),
    ...memoryNodes
      .filter(({ cpus, memoryBytes }) => cpus.isEmpty && memoryBytes > 0)
      .map(({ id, memoryBytes, isOfGpu }) => {
        const gpuNote = isOfGpu ? ': it is the memory of a GPU' : '';
        return `NUMA node ${id} has ${formatMemory(memoryBytes)} and no CPU${gpuNote}.\n`;
      }),
    ...topology.ignored.map((sentence) => `Read without: ${sentence}.\n`),
  ].join('');
}

function describeOwner({ offline, topology, owners }: MachineView, owner: Owner): string[] {
  const { mark, kind, isIdle, isPlanned, cpus, nodes, namespace, pod, podUid, containers } = owner;
  const lost = cpus.intersect(offline);
  const barred = cpus.intersect(barredCpus(topology));
  const hasTwin = owners.some((each) => each.namespace === namespace && each.pod === pod && each.podUid !== podUid);
  const notes = [
    ...(hasTwin ? [`uid ${podUid}`] : []),
    ...(isPlanned ? ['not created yet'] : isIdle ? ['idle until its pod goes'] : []),
    ...(kind === 'immovable' ? ['shared containers run here too'] : []),
    ...(kind === 'numa' ? [`what is shared on NUMA ${nodes.size === 1 ? 'node' : 'nodes'} ${nodes.toString()}`] : []),
    ...(lost.isEmpty ? [] : [`${lost.toString()} offline`]),
    ...(barred.isEmpty ? [] : [`${barred.toString()} barred`]),
  ];
  const name = `${namespace}/${pod} ${containers.join(', ')}`;
  return [mark, isIdle ? 'idle' : kind, listOrCount(cpus), [name, ...notes].join('; ')];
}

const MAX_LIST_LENGTH = 32;

/** A short list, else the number of CPUs: the map shows them exactly. */
function listOrCount(cpus: CpuSet): string {
  const list = cpus.toString();
  return list.length <= MAX_LIST_LENGTH ? list : plural(cpus.size, 'CPU');
}

/** Bytes as whole GiB, below one GiB as whole MiB. */
export function formatMemory(bytes: number): string {
  return bytes >= 2 ** 30 ? `${Math.round(bytes / 2 ** 30)} GiB` : `${Math.round(bytes / 2 ** 20)} MiB`;
}

/** The tone of a mark in a terminal with colours. */
export function toneOfMark({ owners }: Pick<MachineView, 'owners'>, mark: string): Tone | undefined {
  if (mark === PLAIN_MARKS.reserved || mark === PLAIN_MARKS.offline || mark === PLAIN_MARKS.barred) return 'dim';
  const place = owners.findIndex((owner) => owner.mark !== '' && owner.mark === mark);
  return place === -1 ? undefined : OWNER_TONES[place % OWNER_TONES.length];
}
