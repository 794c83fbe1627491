/** A situation of the service. Its pod is the same in all: Guaranteed, with 1 CPU as request and limit. */
export interface Scenario {
  readonly name: string;
  /** With cpusetd; without it the service is on all CPUs, as with the kubelet's policy `none`. */
  readonly isPinned: boolean;
  /** Containers that never sleep, on the shared CPUs. */
  readonly hasNeighbours: boolean;
  /** The programs outside of the containers are kept on the reserved CPU. */
  readonly isHostKeptOff?: boolean;
  /** A process of the system writes to the disk without a pause. */
  readonly isDiskBusy?: boolean;
  readonly areInterruptsSteered?: boolean;
  /** The service has a second thread, which never sleeps. */
  readonly hasBackground?: boolean;
}

const pinned: Scenario = { name: 'pinned, with neighbours', isPinned: true, hasNeighbours: true };

export const BESIDE_NEIGHBOURS: readonly Scenario[] = [
  { name: 'shared, alone', isPinned: false, hasNeighbours: false },
  { name: 'shared, with neighbours', isPinned: false, hasNeighbours: true },
  pinned,
  { ...pinned, name: 'pinned, and programs of the host moved away', isHostKeptOff: true },
];

export const BUSY_DISK: readonly Scenario[] = [
  pinned,
  { ...pinned, name: 'and a busy disk', isDiskBusy: true },
  { ...pinned, name: 'and interrupts steered', isDiskBusy: true, areInterruptsSteered: true },
];

export const OWN_THREADS: readonly Scenario[] = [
  { name: 'shared, alone, limit of 1 CPU', isPinned: false, hasNeighbours: false, hasBackground: true },
  { name: 'pinned, alone', isPinned: true, hasNeighbours: false, hasBackground: true },
];
