import type { Use } from '../../admin/machine/machine-view';

/** The use of a CPU, in words. */
export const USES: Readonly<Record<Use, string>> = {
  static: 'exclusive',
  exclusive: "exclusive, by Crane's policy of that name",
  immovable: 'immovable: containers of the shared pool run there too',
  numa: 'shared on its NUMA node',
  idle: 'idle: it stays with the pod of a container that exited, or is still to come',
  reserved: 'reserved for the system',
  shared: 'in the shared pool: it belongs to nobody',
  offline: 'offline',
  barred: "online, and the cgroups of this node's pods do not have it",
};
