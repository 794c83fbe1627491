import { formatTable } from '../format/table';
import { PLAIN, type Terminal } from '../format/terminal';
import { findUse, type MachineView } from './machine-view';

/** A row for each CPU, online or not, like lscpu -e. */
export function formatCpus(view: MachineView, terminal: Terminal = PLAIN): string {
  const rows = describe(view).map(({ id, place, use, owner }) => [
    String(id),
    ...(place ? [place.core, place.socket, place.numaNode, place.uncoreCache].map(String) : ['', '', '', '']),
    use,
    owner === undefined ? '' : `${owner.namespace}/${owner.pod}`,
    owner?.containers.join(',') ?? '',
    formatBusy(view.busy?.get(id)),
  ]);
  const headers = ['CPU', 'CORE', 'SOCKET', 'NODE', 'CACHE', 'USE', 'POD', 'CONTAINER', 'BUSY'];
  return formatTable(headers, rows, { terminal });
}

/** The same as data, with the owners once more, those without CPUs included. */
export function describeMachine(view: MachineView): object {
  const { owners, unowned, topology, offline } = view;
  return {
    cpus: describe(view).map(({ id, place, use, owner }) => ({
      id,
      ...place,
      ...(unowned && { use }),
      ...(owner && { owner: owner.mark }),
      ...(view.busy?.has(id) && { busy: view.busy.get(id) }),
    })),
    memoryNodes: topology.memoryNodes.map(({ id, memoryBytes }) => ({ id, memoryBytes })),
    online: topology.online,
    offline,
    isolated: topology.isolated,
    ...(unowned && {
      reserved: unowned.reserved,
      sharedPool: unowned.sharedPool,
      free: unowned.free,
      owners: owners.map(({ nodes, ...owner }) => ({ ...owner, ...(!nodes.isEmpty && { nodes }) })),
    }),
  };
}

function formatBusy(part: number | undefined): string {
  return part === undefined ? '' : `${Math.round(part * 100)} %`;
}

function describe(view: MachineView) {
  const placeOf = new Map(view.topology.cpus.map(({ id, ...place }) => [id, place]));
  return view.topology.online
    .union(view.offline)
    .toArray()
    .map((id) => {
      const { use, owner } = findUse(view, id);
      return { id, place: placeOf.get(id), use: view.unowned || use === 'offline' ? use : '', owner };
    });
}
