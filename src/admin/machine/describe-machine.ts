import { barredCpus, machineOf, type CpuInfo } from '../../core/topology';
import { findUse, type MachineView, type Owner, type Use } from './machine-view';

/** A machine as data for programs: its CPUs, and the owners once more, those without CPUs included. */
export function describeMachine(view: MachineView): object {
  const { nodeName, owners, unowned, topology, offline } = view;
  const machine = machineOf(topology);
  return {
    ...(nodeName !== undefined && { nodeName }),
    cpus: listCpus(view).map(({ id, place, use, owner }) => ({
      id,
      ...place,
      ...(unowned && { use }),
      ...(owner && { owner: owner.mark }),
      ...(view.busy?.has(id) && { busy: view.busy.get(id) }),
    })),
    memoryNodes: topology.memoryNodes.map(({ id, memoryBytes, cpus, tier, isOfGpu }) => ({
      id,
      memoryBytes,
      cpus,
      ...(tier !== undefined && { tier }),
      ...(isOfGpu && { isOfGpu }),
    })),
    uncoreCaches: machine.uncoreCaches,
    ...(machine.coreKinds.length > 0 && { coreKinds: machine.coreKinds }),
    ...(topology.ignored.length > 0 && { ignored: topology.ignored }),
    online: machine.online,
    offline,
    barred: barredCpus(topology),
    barredBy: topology.confinement?.bound.cgroup ?? '',
    isolated: topology.isolated,
    ...(unowned && {
      reserved: unowned.reserved,
      sharedPool: unowned.sharedPool,
      free: unowned.free,
      owners: owners.map(({ nodes, ...owner }) => ({ ...owner, ...(!nodes.isEmpty && { nodes }) })),
    }),
  };
}

/** One CPU: its place, absent when it is offline, and its use. */
export interface ShownCpu {
  readonly id: number;
  readonly place: Omit<CpuInfo, 'id'> | undefined;
  readonly use: Use | '';
  readonly owner: Owner | undefined;
}

/** Each CPU, online or not, by id. The use is empty for a machine without a daemon. */
export function listCpus(view: MachineView): readonly ShownCpu[] {
  const machine = machineOf(view.topology);
  const placeOf = new Map(machine.cpus.map(({ id, ...place }) => [id, place]));
  return machine.online
    .union(view.offline)
    .toArray()
    .map((id) => {
      const { use, owner } = findUse(view, id);
      return {
        id,
        place: placeOf.get(id),
        use: view.unowned || use === 'offline' || use === 'barred' ? use : '',
        owner,
      };
    });
}
