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
  'another-manager',
  'unknown-writer',
] as const;

export type DriftCause = (typeof DRIFT_CAUSES)[number];

/**
 * Programs that write cpusets of containers, by the name that the kernel has for their process: its first 15 bytes. The
 * kubelet is not among them: it runs on every node, and the state file of its CPU manager shows whether that is on.
 */
export const KNOWN_MANAGERS: ReadonlyMap<string, string> = new Map([
  ['koordlet', 'Koordinator (koordlet)'],
  ['crane-agent', 'Crane (crane-agent)'],
  ['katalyst-agent', 'Katalyst (katalyst-agent)'],
  ['cri-resmgr', 'CRI Resource Manager (cri-resmgr)'],
  ['nri-resource-po', 'NRI resource policy (nri-resource-policy)'],
  ['dracpu', 'DRA driver for CPUs (dracpu)'],
]);

/** Evidence for the causes. A fact that is not known is absent, and is evidence for none. */
export interface DriftClues {
  readonly promise: CpuPromise;
  readonly seen: Seen;
  readonly online: CpuSet;
  /** The CPUs that the parent cgroup's processes may run on. */
  readonly parent?: CpuSet;
  /** The container's cgroup is a unit of systemd. */
  readonly systemd: boolean;
  /** The runtime's own record, as far as known; on systemd nodes systemd has the same. */
  readonly runtimeRecord?: CpuPromise;
  /** Age of systemd's last loading of its units, in ms: at its start, or at the last `systemctl daemon-reload`. */
  readonly msSinceReload?: number;
  /** An update of another program went through the runtime: its age in ms. */
  readonly msSinceUpdate?: number;
  /** The number of repairs of this promise shortly before. */
  readonly repairs: number;
  /** The kubelet's own CPU manager is at work on this node. */
  readonly staticKubelet: boolean;
  /** Programs that run on this node and are known to write cpusets. */
  readonly managers?: readonly string[];
}

export interface LikelyCause {
  readonly cause: DriftCause;
  /** Written for the operator. */
  readonly because: string;
}

/** An update takes the runtime about 10 ms; longer ago it explains nothing. */
const UPDATE_MS = 2_000;
/** A reload begins with loading all units, and ends with writing their values. */
const RELOAD_MS = 15_000;
/** A manager of cpusets writes them again and again. */
const MANY_REPAIRS = 3;

/**
 * Names the likely cause of a drift: the first that there is evidence for, facts before coincidences in time. Where
 * there is none the writer is unknown: the kernel does not show the writer. Pure.
 *
 * `systemctl daemon-reload` lets systemd write its own values again: those that the runtime recorded last, or none at
 * all (systemd issue 40438, runc issue 1605).
 */
export function explainDrift(clues: DriftClues): LikelyCause {
  const { promise, seen, online, parent, msSinceUpdate, msSinceReload, repairs, managers = [] } = clues;
  const offline = promise.cpus.minus(online);
  if (!offline.isEmpty && seen.effective.isSubsetOf(promise.cpus))
    return { cause: 'cpu-offline', because: `CPUs ${offline.toString()} went offline` };
  const missing = parent ? promise.cpus.minus(parent) : CpuSet.empty;
  if (!missing.isEmpty)
    return { cause: 'parent-narrowed', because: `its parent cgroup no longer has CPUs ${missing.toString()}` };
  if (isWithin(msSinceUpdate, UPDATE_MS)) {
    const ago = `an update went through the runtime ${Math.round(msSinceUpdate)} ms before`;
    return clues.staticKubelet
      ? { cause: 'kubelet-cpu-manager', because: `${ago}, and the kubelet's own CPU manager is at work on this node` }
      : { cause: 'runtime-update', because: ago };
  }
  if (clues.systemd && isValueOfSystemd(clues))
    return { cause: 'systemd-reload', because: "it has what the runtime's record says, and with it systemd's unit" };
  if (clues.systemd && isWithin(msSinceReload, RELOAD_MS))
    return {
      cause: 'systemd-reload',
      because: `systemd loaded its units ${Math.round(msSinceReload / 1000)} s before: "systemctl daemon-reload" writes its own values back`,
    };
  if (repairs >= MANY_REPAIRS && managers.length > 0)
    return {
      cause: 'another-manager',
      because: `${managers.join(', ')} runs on this node, and it was changed again after each of ${repairs} repairs`,
    };
  const what = seen.cpus.isEmpty ? 'emptied its cpuset: it runs wherever its parent does' : 'wrote its cgroup directly';
  const again = repairs >= MANY_REPAIRS ? `, again after each of ${repairs} repairs` : '';
  return { cause: 'unknown-writer', because: `unknown writer: someone ${what}${again}` };
}

/** Only the runtime's record has this older value. */
function isValueOfSystemd({ promise, seen, runtimeRecord }: DriftClues): boolean {
  return (
    runtimeRecord !== undefined && runtimeRecord.cpus.equals(seen.cpus) && !runtimeRecord.cpus.equals(promise.cpus)
  );
}

function isWithin(ms: number | undefined, windowMs: number): ms is number {
  return ms !== undefined && ms >= 0 && ms <= windowMs;
}
