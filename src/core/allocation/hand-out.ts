import { findCombination } from './combinations';

/** How the CPUs that equal shares leave over are handed out within one combination of nodes. */
export interface HandOut {
  /** The score that no way to hand out can beat. */
  boundScore(): number;
  /** The score of some way to hand out. */
  guessScore(): number;
  /** The best score there is, as far as it is below the limit; else anything not below it. */
  bestScore(limit: number): number;
  /** The first set of nodes, by place, that has the score (or a better one): more nodes first, then lexicographic. */
  firstWith(score: number): readonly number[];
}

export interface HandOutInput {
  /** Free CPUs that each node of the combination has after its share. */
  readonly rest: readonly number[];
  /** Groups to hand out. */
  readonly groups: number;
  readonly groupSize: number;
  /** By how much the shares have sunk the sum of squares of free CPUs. */
  readonly shared: number;
  /** The score for a sum of squares that has sunk so far. */
  readonly score: (sunkSquares: number) => number;
  /** Counted down by each set that is looked at; at 0 the search ends with what it has. */
  readonly effort: { left: number };
}

/** The nodes of one combination that can still give a group, and every way to go round among some of them. */
export function createHandOut({ rest, groups, groupSize, shared, score, effort }: HandOutInput): HandOut {
  const givers: number[] = [];
  rest.forEach((cpus, node) => {
    if (cpus >= groupSize) givers.push(node);
  });
  const cpusOf = givers.map((node) => rest[node]!);
  const roomOf = cpusOf.map((cpus) => Math.floor(cpus / groupSize));

  const fullestFirst = cpusOf.map((_, place) => place).sort((a, b) => cpusOf[b]! - cpusOf[a]! || a - b);
  const leastRoom = Math.min(...roomOf);
  const bound = groups === 0 ? score(shared) : score(shared + sinkMost(cpusOf, groups, groupSize));

  /** Score of going round among some givers (by place in `givers`), or Infinity when they have too little. */
  const scoreOf = (places: readonly number[]): number => {
    effort.left -= places.length;
    const rounds = Math.floor(groups / places.length);
    const oneMore = groups % places.length;
    let sunk = shared;
    if (leastRoom > rounds) {
      for (let i = 0; i < places.length; i++) {
        sunk += sunkBy(cpusOf[places[i]!]!, (i < oneMore ? rounds + 1 : rounds) * groupSize);
      }
      return score(sunk);
    }
    const given = goRound(places, roomOf, groups);
    if (!given) return Infinity;
    for (let i = 0; i < places.length; i++) sunk += sunkBy(cpusOf[places[i]!]!, given[i]! * groupSize);
    return score(sunk);
  };

  /** What sets of a size cannot beat: the fullest nodes, and the fullest of them give one group more. */
  const boundOfSize = (size: number): number => {
    const rounds = Math.floor(groups / size);
    if (leastRoom <= rounds)
      return score(
        shared +
          sinkMost(
            fullestFirst.slice(0, size).map((i) => cpusOf[i]!),
            groups,
            groupSize,
          ),
      );
    const oneMore = groups % size;
    let sunk = shared;
    for (let i = 0; i < size; i++) {
      sunk += sunkBy(cpusOf[fullestFirst[i]!]!, (i < oneMore ? rounds + 1 : rounds) * groupSize);
    }
    return score(sunk);
  };

  const guess = (): number => {
    let best = Infinity;
    for (let size = givers.length; size >= 1 && best > bound; size--) {
      best = Math.min(best, scoreOf(fullestFirst.slice(0, size).sort((a, b) => a - b)));
    }
    return best;
  };

  return {
    boundScore: () => bound,
    guessScore: () => (groups === 0 ? bound : guess()),
    bestScore(limit) {
      if (groups === 0) return bound;
      let best = guess();
      // Of as many nodes as groups, or more, the guess is the best already: the fullest give one group each.
      for (let size = Math.min(givers.length, groups - 1); size >= 1; size--) {
        if (boundOfSize(size) >= Math.min(best, limit)) continue;
        findCombination(cpusOf, size, (places) => {
          best = Math.min(best, scoreOf(places));
          return best <= bound || effort.left <= 0;
        });
      }
      return best;
    },
    firstWith(wanted) {
      if (groups === 0) return [];
      let found: readonly number[] = givers; // All of them can always do it, should the search come to its end.
      const matches = (places: readonly number[]): boolean => {
        if (scoreOf(places) <= wanted) found = places.map((place) => givers[place]!);
        else if (effort.left > 0) return false;
        return true;
      };
      // Of more nodes than groups only the first ones give: look at those alone, the ones with most behind them first.
      for (let last = groups - 1; last < givers.length; last++) {
        if (findCombination(cpusOf.slice(0, last), groups - 1, (before) => matches([...before, last]))) return found;
      }
      for (let size = Math.min(givers.length, groups - 1); size >= 1; size--) {
        if (boundOfSize(size) <= wanted && findCombination(cpusOf, size, matches)) return found;
      }
      return found;
    },
  };
}

/** Groups that each place gives when they go round in order until all is handed out; undefined when they have too few. */
function goRound(places: readonly number[], roomOf: readonly number[], groups: number): number[] | undefined {
  const given = new Array<number>(places.length).fill(0);
  for (let left = groups; left > 0;) {
    let givers = 0;
    let leastRoom = Infinity;
    for (let i = 0; i < places.length; i++) {
      const room = roomOf[places[i]!]! - given[i]!;
      if (room <= 0) continue;
      givers++;
      leastRoom = Math.min(leastRoom, room);
    }
    if (givers === 0) return undefined;
    // As many rounds at once as all of them can go; the last one may end before its end.
    const rounds = Math.max(1, Math.min(Math.floor(left / givers), leastRoom));
    for (let i = 0; i < places.length && left > 0; i++) {
      if (roomOf[places[i]!]! <= given[i]!) continue;
      given[i]! += rounds;
      left -= rounds;
    }
  }
  return given;
}

function sunkBy(cpus: number, given: number): number {
  return cpus ** 2 - (cpus - given) ** 2;
}

/** The most by which handing out groups can sink the sum of squares: always from the fullest. */
function sinkMost(cpusOf: readonly number[], groups: number, groupSize: number): number {
  const cpus = [...cpusOf].sort((a, b) => b - a);
  let left = groups;
  // Down to the level that all would reach if CPUs could be divided, in whole groups; then one group at a time.
  let level = 0;
  let above = 0;
  for (let i = 0; i < cpus.length; i++) {
    above += cpus[i]!;
    level = (above - groups * groupSize) / (i + 1);
    if (level >= (cpus[i + 1] ?? 0)) break;
  }
  let sunk = 0;
  for (let i = 0; i < cpus.length; i++) {
    const given = Math.floor(Math.max(0, cpus[i]! - Math.max(0, level)) / groupSize);
    sunk += sunkBy(cpus[i]!, given * groupSize);
    cpus[i]! -= given * groupSize;
    left -= given;
  }
  for (; left > 0; left--) {
    let fullest = 0;
    for (let i = 1; i < cpus.length; i++) if (cpus[i]! > cpus[fullest]!) fullest = i;
    sunk += sunkBy(cpus[fullest]!, groupSize);
    cpus[fullest]! -= groupSize;
  }
  return sunk;
}
