import { countNodes, FITS, PREFERRED, type HintTable, type NodeMask } from './topology-hint';

const { clz32 } = Math;

/** Amounts of one resource on each NUMA node, by place. */
export interface NodeAmounts {
  /** All that the node has, taken or not. */
  readonly total: readonly number[];
  /** What the request may use of it. */
  readonly usable: readonly number[];
}

/** For align-by-socket. */
export interface SocketsOfNodes {
  /** The sockets of each node, by place: bit i stands for `topology.sockets[i]`. */
  readonly socketsOf: readonly number[];
  /** As the kubelet reckons, rounded down; at least 1. */
  readonly nodesPerSocket: number;
}

/**
 * Hints for a request: every combination of nodes that has enough usable and contains `within`; preferred are those with as
 * few nodes as could hold the request on an idle machine, and with `sockets` those that lie in as few sockets as these
 * nodes would need. Looks once at each mask.
 */
export function enumerateMasks(
  { total, usable }: NodeAmounts,
  needed: number,
  { within = 0, sockets }: { readonly within?: NodeMask; readonly sockets?: SocketsOfNodes } = {},
): HintTable {
  const size = 2 ** total.length;
  const fewest = countFewest(total, needed);
  const fewestSockets = sockets ? Math.ceil(fewest / sockets.nodesPerSocket) : -1;
  const hints = new Uint8Array(size);
  const usableOf = new Float64Array(size);
  const socketsOf = new Uint16Array(sockets ? size : 0);
  for (let mask = 1; mask < size; mask++) {
    const lowest = 31 - clz32(mask & -mask);
    const rest = mask & (mask - 1);
    const held = usableOf[rest]! + usable[lowest]!;
    usableOf[mask] = held;
    if (sockets) socketsOf[mask] = socketsOf[rest]! | sockets.socketsOf[lowest]!;
    if ((mask & within) !== within || held < needed) continue;
    const preferred =
      countNodes(mask) === fewest || (fewestSockets >= 0 && countNodes(socketsOf[mask]!) === fewestSockets);
    hints[mask] = preferred ? PREFERRED : FITS;
  }
  return hints;
}

/** How few nodes could hold it if all were free; all of them when not even they can. */
function countFewest(total: readonly number[], needed: number): number {
  const largestFirst = [...total].sort((a, b) => b - a);
  let held = 0;
  for (let count = 1; count <= largestFirst.length; count++) {
    held += largestFirst[count - 1]!;
    if (held >= needed) return count;
  }
  return total.length;
}
