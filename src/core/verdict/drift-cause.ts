import { CpuSet } from '../cpuset';
import type { CpuPromise } from '../model/container';
import type { Seen } from './observation';

/** The words for a cause, fixed because metrics count by them. */
export const DRIFT_CAUSES = [
  'cpu-offline',
  'parent-narrowed',
  'kubelet-cpu-manager',
  'runtime-update',
  'systemd-reload',
  'emptied',
  'another-manager',
  'foreign-write',
] as const;

export type DriftCause = (typeof DRIFT_CAUSES)[number];

/** What speaks for one cause or another. */
export interface DriftClues {
  readonly promise: CpuPromise;
  readonly seen: Seen;
  readonly online: CpuSet;
  /** Where the parent cgroup's processes may run; absent when it could not be read. */
  readonly parent?: CpuSet;
  /** The container's cgroup is a unit of systemd. */
  readonly systemd: boolean;
  /** The runtime's own record, as far as known; on systemd nodes systemd has the same. */
  readonly recorded?: CpuPromise;
  /** An update of someone else went through the runtime so long ago. */
  readonly msSinceUpdate?: number;
  /** How many containers were found drifted at the same time, this one included. */
  readonly together: number;
  /** How often this promise was repaired shortly before. */
  readonly repairs: number;
  /** The kubelet's own CPU manager is at work on this node. */
  readonly staticKubelet: boolean;
}

export interface LikelyCause {
  readonly cause: DriftCause;
  /** Written for the operator. */
  readonly because: string;
}

/** An update takes the runtime about 10 ms; longer ago it explains nothing. */
const UPDATE_MS = 2_000;
const MANY_REPAIRS = 3;

/**
 * Names the likely cause of a drift: the first that the clues speak for, those first that are certain. Pure.
 *
 * `systemctl daemon-reload` lets systemd write its own values again: those that the runtime recorded last, or none
 * at all, and for all units at once (systemd issue 40438, runc issue 1605).
 */
export function explainDrift(clues: DriftClues): LikelyCause {
  const { promise, seen, online, parent, systemd, recorded, msSinceUpdate, together, repairs } = clues;
  const offline = promise.cpus.minus(online);
  if (!offline.isEmpty && seen.effective.isSubsetOf(promise.cpus))
    return { cause: 'cpu-offline', because: `CPUs ${offline.toString()} went offline` };
  const missing = parent ? promise.cpus.minus(parent) : CpuSet.empty;
  if (!missing.isEmpty)
    return { cause: 'parent-narrowed', because: `its parent cgroup no longer has CPUs ${missing.toString()}` };
  if (clues.staticKubelet)
    return { cause: 'kubelet-cpu-manager', because: "the kubelet's own CPU manager is at work on this node" };
  if (msSinceUpdate !== undefined && msSinceUpdate <= UPDATE_MS)
    return {
      cause: 'runtime-update',
      because: `an update went through the runtime ${Math.round(msSinceUpdate)} ms before`,
    };
  if (systemd && (seen.cpus.isEmpty || recorded?.cpus.equals(seen.cpus) || together > 1)) {
    return {
      cause: 'systemd-reload',
      because: 'systemd has put its own values back, most likely at a "systemctl daemon-reload"',
    };
  }
  if (seen.cpus.isEmpty)
    return { cause: 'emptied', because: 'its cpuset was emptied: it runs wherever its parent does' };
  if (repairs >= MANY_REPAIRS)
    return { cause: 'another-manager', because: `it was repaired ${repairs} times and changed again each time` };
  return { cause: 'foreign-write', because: 'someone wrote its cgroup directly' };
}
