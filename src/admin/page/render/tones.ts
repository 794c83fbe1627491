/** Number of colours for owners in the style sheet. They stand around a circle of hues, the last beside the first. */
export const TONES = 12;

/** An owner, as far as its colour goes. */
export interface Toned {
  /** The same for as long as the owner lives. */
  readonly key: string;
  /** Keys of owners with a CPU beside one of its own. */
  readonly touching: ReadonlySet<string>;
  /** Keys of other owners with CPUs of the same caches. */
  readonly nearby: ReadonlySet<string>;
}

const TOUCHING = 1_000;
/** Beside the weight of a colour next to it on the circle. */
const SAME = 10;
/** Small enough that any number of owners elsewhere counts less than one nearby. */
const ELSEWHERE = 1e-6;

/**
 * Chooses the colours of owners, as numbers below `TONES`. Owners that touch get different ones wherever there are
 * enough, those nearby too, and all where there are no more than colours. An owner keeps the colour that it had
 * `before`, unless one that comes earlier in the list and touches it has that too.
 */
export function assignTones(owners: readonly Toned[], before: ReadonlyMap<string, number>): Map<string, number> {
  const tones = new Map<string, number>();
  const isTaken = (tone: number, { touching }: Toned): boolean => [...touching].some((key) => tones.get(key) === tone);
  const others: Toned[] = [];
  for (const owner of owners) {
    const tone = before.get(owner.key);
    if (tone === undefined || isTaken(tone, owner)) others.push(owner);
    else tones.set(owner.key, tone);
  }
  for (const owner of others) tones.set(owner.key, chooseTone(owner, tones));
  return tones;
}

/** The colour that is least like those around; among equal ones the first from that of its name on. */
function chooseTone({ key, touching, nearby }: Toned, tones: ReadonlyMap<string, number>): number {
  const costs = new Array<number>(TONES).fill(0);
  const avoid = (keys: ReadonlySet<string>, weight: number): void => {
    for (const other of keys) {
      const tone = tones.get(other);
      if (tone === undefined) continue;
      costs[tone]! += SAME * weight;
      for (const step of [1, TONES - 1]) costs[(tone + step) % TONES]! += weight;
    }
  };
  for (const tone of tones.values()) costs[tone]! += ELSEWHERE;
  avoid(touching, TOUCHING);
  avoid(nearby, 1);
  const first = hashOf(key) % TONES;
  let best = first;
  for (let step = 1; step < TONES; step++) {
    const tone = (first + step) % TONES;
    if (costs[tone]! < costs[best]!) best = tone;
  }
  return best;
}

function hashOf(text: string): number {
  let hash = 0;
  for (const character of text) hash = (Math.imul(hash, 31) + character.codePointAt(0)!) >>> 0;
  return (hash ^ (hash >>> 15)) >>> 0;
}
