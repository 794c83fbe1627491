import { listCpus } from '../../admin/machine/describe-machine';
import type { MachineView } from '../../admin/machine/machine-view';
import { machineOf } from '../../core/topology';
import { formatTable } from '../format/table';
import { PLAIN, type Terminal } from '../format/terminal';

/** A row for each CPU, online or not, like lscpu -e. */
export function formatCpus(view: MachineView, terminal: Terminal = PLAIN): string {
  const { coreKinds } = machineOf(view.topology);
  const rows = listCpus(view).map(({ id, place, use, owner }) => [
    String(id),
    ...(place ? [place.core, place.socket, place.numaNode, place.uncoreCache].map(String) : ['', '', '', '']),
    coreKinds.find(({ cpus }) => cpus.has(id))?.name ?? '',
    use,
    owner === undefined ? '' : `${owner.namespace}/${owner.pod}`,
    owner?.containers.join(',') ?? '',
    formatBusy(view.busy?.get(id)),
  ]);
  const headers = ['CPU', 'CORE', 'SOCKET', 'NODE', 'CACHE', 'KIND', 'USE', 'POD', 'CONTAINER', 'BUSY'];
  return formatTable(headers, rows, { terminal });
}

function formatBusy(part: number | undefined): string {
  return part === undefined ? '' : `${Math.round(part * 100)} %`;
}
