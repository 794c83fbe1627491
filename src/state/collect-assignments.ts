import { keyOf, type Assignment } from '../core/model/assignment';
import { mayOverlap } from '../core/model/pool-view';
import { readAssignment } from './read-assignment';

/** An entry of the document that is not believed. */
export interface RejectedEntry {
  /** Its place in the list, from 0. */
  readonly index: number;
  /** `podUid/containerName`, as far as the entry could be read; else null. */
  readonly key: string | null;
  /** Written for the operator. */
  readonly because: string;
}

/**
 * Reads all entries and holds them against each other: no two of one container, no CPU in two sets, unless their
 * containers share it.
 * Of entries that contradict each other none is believed, since nothing here tells which one is right.
 */
export function collectAssignments(entries: readonly unknown[]): {
  readonly assignments: readonly Assignment[];
  readonly rejected: readonly RejectedEntry[];
} {
  const readable: { index: number; assignment: Assignment }[] = [];
  const rejected = new Map<number, RejectedEntry>();
  entries.forEach((entry, index) => {
    const outcome = readAssignment(entry);
    if ('assignment' in outcome) readable.push({ index, assignment: outcome.assignment });
    else rejected.set(index, { index, key: null, because: `entry ${index}: ${outcome.because}` });
  });

  const reject = ({ index, assignment }: { index: number; assignment: Assignment }, because: string): void => {
    if (!rejected.has(index)) rejected.set(index, { index, key: keyOf(assignment), because });
  };
  const firstByKey = new Map<string, { index: number; assignment: Assignment }>();
  const ownerOf = new Map<number, { index: number; assignment: Assignment }>();
  for (const entry of readable) {
    const { assignment } = entry;
    const key = keyOf(assignment);
    const twin = firstByKey.get(key);
    if (twin) {
      for (const either of [twin, entry]) reject(either, `${key} has two assignments`);
      continue;
    }
    firstByKey.set(key, entry);
    for (const cpu of assignment.cpus) {
      const owner = ownerOf.get(cpu);
      if (!owner) ownerOf.set(cpu, entry);
      else if (!mayOverlap(owner.assignment, assignment))
        for (const either of [owner, entry])
          reject(either, `CPU ${cpu} belongs to ${keyOf(owner.assignment)} and ${key}`);
    }
  }
  return {
    assignments: readable.filter(({ index }) => !rejected.has(index)).map(({ assignment }) => assignment),
    rejected: [...rejected.values()].sort((a, b) => a.index - b.index),
  };
}
