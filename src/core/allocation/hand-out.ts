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

  /** Score of going round among the givers (by place in `givers`), or Infinity when they have too little. */
  const scoreOf = (places: readonly number[]): number => {
    effort.left--;
    const given = goRound(places, roomOf, groups);
    if (!given) return Infinity;
    let sunk = shared;
    for (let i = 0; i < places.length; i++) sunk += sunkBy(cpusOf[places[i]!]!, given[i]! * groupSize);
    return score(sunk);
  };

  const bound = groups === 0 ? score(shared) : score(shared + sinkMost(cpusOf, groups, groupSize));
  const fullestFirst = cpusOf.map((_, place) => place).sort((a, b) => cpusOf[b]! - cpusOf[a]! || a - b);
  const guess = (): number => {
    let best = Infinity;
    for (let size = givers.length; size >= 1 && best > bound; size--) {
      best = Math.min(best, scoreOf(fullestFirst.slice(0, size).sort((a, b) => a - b)));
    }
    return best;
  };

  function* setsOf(size: number): Generator<readonly number[]> {
    const chosen: number[] = [];
    function* extend(from: number): Generator<readonly number[]> {
      if (chosen.length === size) {
        yield chosen;
        return;
      }
      for (let i = from; i <= cpusOf.length - (size - chosen.length); i++) {
        if (cpusOf.indexOf(cpusOf[i]!, from) < i) continue;
        chosen.push(i);
        yield* extend(i + 1);
        chosen.pop();
      }
    }
    yield* extend(0);
  }

  return {
    boundScore: () => bound,
    guessScore: () => (groups === 0 ? bound : guess()),
    bestScore(limit) {
      if (groups === 0) return bound;
      let best = guess();
      for (let size = Math.min(givers.length, groups); size >= 1; size--) {
        for (const places of setsOf(size)) {
          if (best <= bound || bound >= limit || effort.left <= 0) return best;
          best = Math.min(best, scoreOf(places));
        }
      }
      return best;
    },
    firstWith(wanted) {
      if (groups === 0) return [];
      for (let size = givers.length; size >= 1; size--) {
        for (const places of setsOf(size)) {
          if (scoreOf(places) <= wanted || effort.left <= 0) return places.map((place) => givers[place]!);
        }
      }
      return givers;
    },
  };
}

/** Groups that each place gives when they go round in order until all is handed out; undefined when they have too few. */
function goRound(places: readonly number[], roomOf: readonly number[], groups: number): number[] | undefined {
  const given: number[] = places.map(() => 0);
  let left = groups;
  while (left > 0) {
    const open = places.map((place, i) => roomOf[place]! - given[i]!);
    const givers = open.filter((room) => room > 0).length;
    if (givers === 0) return undefined;
    const rounds = Math.min(Math.floor(left / givers), ...open.filter((room) => room > 0));
    for (let i = 0; i < places.length && left > 0; i++) {
      if (open[i]! <= 0) continue;
      const gives = Math.max(1, rounds);
      given[i]! += gives;
      left -= gives;
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
