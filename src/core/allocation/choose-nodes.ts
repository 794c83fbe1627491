import { findCombination } from './combinations';
import { RemainderPlan } from './remainder-plan';

/** The NUMA nodes that the distributed algorithm chooses from, known by their index in `free`. */
export interface NodeChoice {
  /** Free CPUs of each node, in the order in which earlier nodes win ties. */
  readonly free: readonly number[];
  readonly count: number;
  /** CPUs are allocated in groups of this size; `count` is a multiple of it. */
  readonly groupSize: number;
  readonly maxNodes: number;
  /**
   * Groups of nodes, ascending: those within one group go before all others (align-by-socket). Absent = no such order.
   */
  readonly sockets?: readonly (readonly number[])[];
}

export interface ChosenNodes {
  readonly nodes: readonly number[];
  /** CPUs that each of the nodes gives. */
  readonly share: number;
  /** Nodes that give a group more each, in rounds, until the count is reached. */
  readonly extra: readonly number[];
  /** The search was ended by its bound: there may be a better balanced choice. */
  readonly bounded: boolean;
}

/**
 * Nodes that the search looks at, over all combinations, before it ends with the best that it has found; some 10 ms.
 */
const MAX_EFFORT = 200_000;

/**
 * As few nodes as possible that can give the count in equal shares; of those combinations the one that leaves the free
 * CPUs of all nodes most evenly spread, by the kubelet's measure: the standard deviation, rounded to three decimals. Of
 * equals the first in order wins. Undefined when no number of nodes up to `maxNodes` will do.
 *
 * With `sockets`, combinations within one socket go before all others, and nodes with less than an equal share lower
 * the share of all, as in the kubelet since 1.37 (`takeByTopologyNUMADistributed`,
 * pkg/kubelet/cm/cpumanager/cpu_assignment.go).
 *
 * The kubelet scores every combination, and every set of nodes for what is left over within each. Here a combination is
 * left out when it must score like an earlier one, or when not even the best way to distribute the rest (one group at a
 * time, from the fullest node) could make it win.
 */
export function chooseNodes(choice: NodeChoice): ChosenNodes | undefined {
  const all = choice.free.map((_, node) => node);
  for (let size = 1; size <= choice.maxNodes; size++) {
    const inOneSocket = (choice.sockets ?? []).flatMap((nodes) => searchCombinations(choice, size, nodes) ?? []);
    const found = inOneSocket.length > 0 ? inOneSocket.reduce(better) : searchCombinations(choice, size, all);
    if (found) return found.chosen;
  }
  return undefined;
}

interface Found {
  readonly chosen: ChosenNodes;
  readonly score: number;
}

/** The one with the lower score; of equals the one that comes first in order. */
function better(first: Found, second: Found): Found {
  if (first.score !== second.score) return first.score < second.score ? first : second;
  const [a, b] = [first.chosen.nodes, second.chosen.nodes];
  const i = a.findIndex((node, at) => node !== b[at]);
  return i < 0 || a[i]! < b[i]! ? first : second;
}

interface Combination {
  readonly nodes: readonly number[];
  readonly share: number;
  readonly remainder: RemainderPlan;
}

/** The best combination of `size` of the nodes `among`. */
function searchCombinations(choice: NodeChoice, size: number, among: readonly number[]): Found | undefined {
  const { free, count, groupSize, sockets } = choice;
  if (among.length < size) return undefined;
  const score = createScore(free, count);
  const effort = { left: MAX_EFFORT };
  const equalShare = Math.floor(Math.floor(count / size) / groupSize) * groupSize;

  const combine = (nodes: readonly number[]): Combination | undefined => {
    let wholeGroups = 0;
    let share = equalShare;
    for (const node of nodes) {
      const groups = Math.floor(free[node]! / groupSize);
      if (sockets) share = Math.min(share, groups * groupSize);
      else if (free[node]! < share) return undefined;
      wholeGroups += groups;
    }
    if (wholeGroups * groupSize < count) return undefined;
    const rest = nodes.map((node) => free[node]! - share);
    let sharesDrop = 0;
    for (let i = 0; i < size; i++) sharesDrop += free[nodes[i]!]! ** 2 - rest[i]! ** 2;
    const groups = (count - share * size) / groupSize;
    return {
      nodes,
      share,
      remainder: new RemainderPlan({ rest, groups, groupSize, sharesDrop, score, effort }),
    };
  };

  // The fullest nodes can do it if any can, and as a first guess they let most other combinations be left out.
  const guess = combine(fullestNodes(free, size, among));
  if (!guess) return undefined;
  const ceiling = guess.remainder.guess();
  let best = guess;
  let bestScore = Infinity;
  const values = among.map((node) => free[node]!);
  findCombination(values, size, (indices) => {
    effort.left -= size;
    const nodes = indices.map((i) => among[i]!);
    const combination = combine(nodes);
    if (!combination) return effort.left <= 0;
    const bound = combination.remainder.bound;
    if (bound < bestScore && bound <= ceiling) {
      const found = combination.remainder.best(bestScore);
      if (found < bestScore) {
        best = combination;
        bestScore = found;
      }
    }
    return bestScore === 0 || effort.left <= 0;
  });
  const bounded = effort.left <= 0;
  if (bounded && bestScore > ceiling) {
    best = guess;
    bestScore = ceiling;
  }
  effort.left = MAX_EFFORT;
  const extra = best.remainder.firstWith(bestScore);
  const chosen = {
    nodes: best.nodes,
    share: best.share,
    extra: extra.map((i) => best.nodes[i]!),
    bounded: bounded || effort.left <= 0,
  };
  return { chosen, score: bestScore };
}

function fullestNodes(free: readonly number[], size: number, among: readonly number[]): number[] {
  return among
    .map((node) => ({ cpus: free[node]!, node }))
    .sort((a, b) => b.cpus - a.cpus || a.node - b.node)
    .slice(0, size)
    .map(({ node }) => node)
    .sort((a, b) => a - b);
}

/**
 * The score of an allocation: the unevenness of the free CPUs after it. It depends only on the drop of the sum of their
 * squares.
 */
function createScore(free: readonly number[], count: number): (drop: number) => number {
  const sum = free.reduce((total, cpus) => total + cpus, 0) - count;
  const squares = free.reduce((total, cpus) => total + cpus ** 2, 0);
  const mean = roundTo3(sum / free.length);
  const rest = free.length * mean ** 2 - 2 * mean * sum;
  return (drop) => roundTo3(Math.sqrt(Math.max(0, squares - drop + rest) / free.length));
}

function roundTo3(value: number): number {
  return Math.round(value * 1000) / 1000;
}
