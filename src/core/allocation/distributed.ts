import { chooseNodes, type ChosenNodes } from './choose-nodes';
import { takePacked, type Strategy } from './packed';
import { mergeRun, startRunInNode, stepOf, type Run } from './run';
import { sequenceNodes } from './sequences';
import type { TopologyIndex } from '../topology';
import { plural } from '../text';

export interface Distribution {
  /** CPUs are allocated in groups of this size. */
  readonly groupSize: number;
  /** Nodes of one socket go before nodes of several (align-by-socket). */
  readonly alignBySocket: boolean;
}

/**
 * The kubelet's distributed algorithm (distribute-cpus-across-numa): as few NUMA nodes as possible, in equal shares, so
 * that the machine stays balanced. A count that is no multiple of the group size, or that cannot be shared out, is
 * packed.
 */
export function takeDistributed(run: Run, strategy: Strategy, { groupSize, alignBySocket }: Distribution): void {
  const { free, need } = run;
  if (need % groupSize !== 0) {
    takePacked(run, strategy, false);
    return;
  }

  const nodes = [...sequenceNodes(free)];
  const groups = Math.ceil(need / groupSize);
  const chosen = chooseNodes({
    free: nodes.map((node) => free.count.numaNode[node]!),
    count: need,
    groupSize,
    maxNodes: Math.min(groups, nodes.length),
    ...(alignBySocket && { sockets: groupBySocket(nodes, free.index) }),
  });
  if (!chosen) {
    takePacked(run, strategy, false);
    return;
  }

  const before = run.taken.length;
  const takeFrom = (i: number, count: number): void => {
    const part = startRunInNode(run, nodes[i]!, count);
    takePacked(part, strategy, false);
    mergeRun(run, part);
  };
  for (const i of chosen.nodes) takeFrom(i, chosen.share);
  while (run.need > 0) {
    const donors = chosen.extra.filter((i) => free.count.numaNode[nodes[i]!]! >= groupSize);
    if (donors.length === 0) break;
    for (const i of donors) {
      if (run.need > 0) takeFrom(i, groupSize);
    }
  }
  const ids = run.taken.slice(before);
  const nodeIds = (indices: readonly number[]) => indices.map((i) => free.index.numaNode.ids[nodes[i]!]!);
  run.steps.push(stepOf('distribute', ids, () => describeChoice(chosen, nodeIds, groupSize)));
}

/** The indices of the nodes that lie in one socket, by that socket. A node in several sockets is in no group. */
function groupBySocket(nodes: readonly number[], { socketsOfNode, socket }: TopologyIndex): readonly number[][] {
  const groups = socket.ids.map((): number[] => []);
  nodes.forEach((node, i) => {
    const [only, another] = socketsOfNode.within[node]!;
    if (another === undefined) groups[only!]!.push(i);
  });
  return groups;
}

function describeChoice(
  { nodes, share, extra, bounded }: ChosenNodes,
  nodeIds: (indices: readonly number[]) => readonly number[],
  groupSize: number,
): string {
  const count =
    nodes.length === 1 ? 'one NUMA node suffices' : `${nodes.length} NUMA nodes are the fewest that suffice`;
  const rest = extra.length === 0 ? '' : `, the rest in groups of ${groupSize} from ${nodeIds(extra).join(', ')}`;
  const end = bounded ? '; the search for the best balance was ended by its bound' : '';
  return `${count}: ${plural(share, 'CPU')} each of ${nodeIds(nodes).join(', ')}${rest}${end}`;
}
