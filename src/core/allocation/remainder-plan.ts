import { findCombination } from './combinations';

export interface RemainderInput {
  /** Free CPUs that each node of the combination has after its share. */
  readonly rest: readonly number[];
  /** Groups to distribute. */
  readonly groups: number;
  readonly groupSize: number;
  /** The drop of the sum of squares of free CPUs that the shares cause. */
  readonly sharesDrop: number;
  /** The score after the sum of squares has dropped so far. */
  readonly score: (drop: number) => number;
  /** Counted down by each set that is looked at; at 0 the search ends with what it has. */
  readonly effort: { left: number };
}

/**
 * The ways to distribute the CPUs that equal shares leave over within one combination of nodes. Donors are the nodes
 * that can still give a group; each way lets some of them give in rounds.
 */
export class RemainderPlan {
  /** Index in the combination of each donor. */
  private readonly donors: readonly number[];
  /** Free CPUs of each donor, and the groups that it can give. */
  private readonly free: readonly number[];
  private readonly capacity: readonly number[];
  private readonly leastCapacity: number;
  /** Indices of donors, the one with the most free CPUs first. */
  private readonly byFreeDescending: readonly number[];
  /** The score that no way can beat. */
  readonly bound: number;

  constructor(private readonly input: RemainderInput) {
    const { rest, groups, groupSize, score, sharesDrop } = input;
    const donors: number[] = [];
    rest.forEach((cpus, node) => {
      if (cpus >= groupSize) donors.push(node);
    });
    this.donors = donors;
    this.free = donors.map((node) => rest[node]!);
    this.capacity = this.free.map((cpus) => Math.floor(cpus / groupSize));
    this.leastCapacity = Math.min(...this.capacity);
    this.byFreeDescending = this.free.map((_, i) => i).sort((a, b) => this.free[b]! - this.free[a]! || a - b);
    this.bound = score(groups === 0 ? sharesDrop : sharesDrop + largestDrop(this.free, groups, groupSize));
  }

  /** The score of some way: the best of those in which the fullest donors give. */
  guess(): number {
    if (this.input.groups === 0) return this.bound;
    let best = Infinity;
    for (let size = this.donors.length; size >= 1 && best > this.bound; size--) {
      best = Math.min(best, this.scoreOf(this.byFreeDescending.slice(0, size).sort((a, b) => a - b)));
    }
    return best;
  }

  /** The best score there is, as far as it is below the limit; else anything not below it. */
  best(limit: number): number {
    const { groups, effort } = this.input;
    let best = this.guess();
    if (groups === 0) return best;
    // Of as many nodes as groups, or more, the guess is the best already: the fullest give one group each.
    for (let size = Math.min(this.donors.length, groups - 1); size >= 1; size--) {
      if (this.boundOfSize(size) >= Math.min(best, limit)) continue;
      findCombination(this.free, size, (indices) => {
        best = Math.min(best, this.scoreOf(indices));
        return best <= this.bound || effort.left <= 0;
      });
    }
    return best;
  }

  /** The first set of nodes that has the score (or a better one): more nodes first, then lexicographic. */
  firstWith(score: number): readonly number[] {
    const { groups, effort } = this.input;
    if (groups === 0) return [];
    let found = this.donors; // All of them can always do it, should the search come to its end.
    const matches = (indices: readonly number[]): boolean => {
      if (this.scoreOf(indices) <= score) found = indices.map((i) => this.donors[i]!);
      else if (effort.left > 0) return false;
      return true;
    };
    // Of more nodes than groups only the first ones give: look at those alone, the ones with most behind them first.
    for (let last = groups - 1; last < this.donors.length; last++) {
      const isFound = findCombination(this.free.slice(0, last), groups - 1, (before) => matches([...before, last]));
      if (isFound) return found;
    }
    for (let size = Math.min(this.donors.length, groups - 1); size >= 1; size--) {
      if (this.boundOfSize(size) <= score && findCombination(this.free, size, matches)) return found;
    }
    return found;
  }

  /** The score where these donors give in rounds, or Infinity when they have too little. */
  private scoreOf(indices: readonly number[]): number {
    const { groups, groupSize, sharesDrop, score, effort } = this.input;
    effort.left -= indices.length;
    if (this.leastCapacity > Math.floor(groups / indices.length))
      return score(sharesDrop + this.dropOfEqualRounds(indices));
    const given = roundRobin(indices, this.capacity, groups);
    if (!given) return Infinity;
    let drop = sharesDrop;
    for (let i = 0; i < indices.length; i++) drop += sumOfSquaresDrop(this.free[indices[i]!]!, given[i]! * groupSize);
    return score(drop);
  }

  /** The bound for sets of a size: the fullest nodes, and the fullest of them give one group more. */
  private boundOfSize(size: number): number {
    const { groups, groupSize, sharesDrop, score } = this.input;
    const fullest = this.byFreeDescending.slice(0, size);
    if (this.leastCapacity > Math.floor(groups / size)) return score(sharesDrop + this.dropOfEqualRounds(fullest));
    const free = fullest.map((i) => this.free[i]!);
    return score(sharesDrop + largestDrop(free, groups, groupSize));
  }

  /**
   * The drop where each of these donors has enough for its rounds; the first ones give one group more, if any are left
   * over.
   */
  private dropOfEqualRounds(indices: readonly number[]): number {
    const { groups, groupSize } = this.input;
    const rounds = Math.floor(groups / indices.length);
    const oneMore = groups % indices.length;
    let drop = 0;
    for (let i = 0; i < indices.length; i++) {
      drop += sumOfSquaresDrop(this.free[indices[i]!]!, (i < oneMore ? rounds + 1 : rounds) * groupSize);
    }
    return drop;
  }
}

/** Groups that each donor gives when they take turns until all is distributed; undefined when they have too few. */
function roundRobin(indices: readonly number[], capacity: readonly number[], groups: number): number[] | undefined {
  const given = new Array<number>(indices.length).fill(0);
  for (let left = groups; left > 0;) {
    let donors = 0;
    let leastCapacity = Infinity;
    for (let i = 0; i < indices.length; i++) {
      const remaining = capacity[indices[i]!]! - given[i]!;
      if (remaining <= 0) continue;
      donors++;
      leastCapacity = Math.min(leastCapacity, remaining);
    }
    if (donors === 0) return undefined;
    // As many rounds at once as all of them can give; the last one may end before its end.
    const rounds = Math.max(1, Math.min(Math.floor(left / donors), leastCapacity));
    for (let i = 0; i < indices.length && left > 0; i++) {
      if (capacity[indices[i]!]! <= given[i]!) continue;
      given[i]! += rounds;
      left -= rounds;
    }
  }
  return given;
}

function sumOfSquaresDrop(cpus: number, given: number): number {
  return cpus ** 2 - (cpus - given) ** 2;
}

/**
 * The largest drop of the sum of squares that giving groups can cause: always from the node with the most free CPUs.
 */
function largestDrop(free: readonly number[], groups: number, groupSize: number): number {
  const cpus = [...free].sort((a, b) => b - a);
  let left = groups;
  // Down to the level that all would reach if CPUs could be divided, in whole groups; then one group at a time.
  let level = 0;
  let above = 0;
  for (let i = 0; i < cpus.length; i++) {
    above += cpus[i]!;
    level = (above - groups * groupSize) / (i + 1);
    if (level >= (cpus[i + 1] ?? 0)) break;
  }
  let drop = 0;
  for (let i = 0; i < cpus.length; i++) {
    const given = Math.floor(Math.max(0, cpus[i]! - Math.max(0, level)) / groupSize);
    drop += sumOfSquaresDrop(cpus[i]!, given * groupSize);
    cpus[i]! -= given * groupSize;
    left -= given;
  }
  for (; left > 0; left--) {
    let fullest = 0;
    for (let i = 1; i < cpus.length; i++) if (cpus[i]! > cpus[fullest]!) fullest = i;
    drop += sumOfSquaresDrop(cpus[fullest]!, groupSize);
    cpus[fullest]! -= groupSize;
  }
  return drop;
}
