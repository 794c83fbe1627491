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

/** Nodes that the search looks at, over all combinations, before it ends with the best that it has found; some 10 ms. */
const MAX_EFFORT = 200_000;

/**
 * As few nodes as possible that can give the count in equal shares; of those combinations the one that leaves the
 * free CPUs of all nodes most evenly spread, by the kubelet's measure: the standard deviation, rounded to three decimals.
 * Of equals the first in order wins. Undefined when no number of nodes up to `maxNodes` will do.
 *
 * The kubelet scores every combination, and every set of nodes for what is left over within each. Here a combination is
 * left out when it must score like an earlier one, or when not even the best way to distribute the rest (one group
 * at a time, from the fullest node) could make it win.
 */
export function chooseNodes(choice: NodeChoice): ChosenNodes | undefined {
  for (let size = 1; size <= choice.maxNodes; size++) {
    const chosen = searchCombinations(choice, size);
    if (chosen) return chosen;
  }
  return undefined;
}

interface Combination {
  readonly nodes: readonly number[];
  readonly share: number;
  readonly remainder: RemainderPlan;
}

function searchCombinations(choice: NodeChoice, size: number): ChosenNodes | undefined {
  const { free, count, groupSize } = choice;
  const score = createScore(free, count);
  const effort = { left: MAX_EFFORT };
  const share = Math.floor(Math.floor(count / size) / groupSize) * groupSize;

  const combine = (nodes: readonly number[]): Combination | undefined => {
    let wholeGroups = 0;
    for (const node of nodes) {
      if (free[node]! < share) return undefined;
      wholeGroups += Math.floor(free[node]! / groupSize);
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
  const guess = combine(fullestNodes(free, size));
  if (!guess) return undefined;
  const ceiling = guess.remainder.guess();
  let best = guess;
  let bestScore = Infinity;
  findCombination(free, size, (nodes) => {
    effort.left -= size;
    const combination = combine(nodes);
    if (!combination) return effort.left <= 0;
    const bound = combination.remainder.bound;
    if (bound < bestScore && bound <= ceiling) {
      const found = combination.remainder.best(bestScore);
      if (found < bestScore) {
        best = { ...combination, nodes: [...nodes] };
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
  return {
    nodes: best.nodes,
    share: best.share,
    extra: extra.map((i) => best.nodes[i]!),
    bounded: bounded || effort.left <= 0,
  };
}

function fullestNodes(free: readonly number[], size: number): number[] {
  return free
    .map((cpus, node) => ({ cpus, node }))
    .sort((a, b) => b.cpus - a.cpus || a.node - b.node)
    .slice(0, size)
    .map(({ node }) => node)
    .sort((a, b) => a - b);
}

/** The score of an allocation: the unevenness of the free CPUs after it. It depends only on the drop of the sum of their squares. */
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
