import { CpuSet, tryParseCpuList } from '../cpuset';
import type { Topology } from '../topology';
import { keyOf, type AssignmentKey } from './assignment';
import type { CpuResources } from './events';

/**
 * The CPUs and memory nodes that a container's creation brought: the kubelet's memory manager, a workload of CRI-O or
 * another NRI plugin put them into the request. Kept on disk by pod and name, since the runtime's record has the answer
 * of cpusetd afterwards.
 */
export interface Brought {
  readonly podUid: string;
  readonly containerName: string;
  /** Never empty; absent = the request named none, or every CPU of the node. */
  readonly cpus?: CpuSet;
  /** Never empty; absent = the request named none. */
  readonly mems?: CpuSet;
}

/** The CPUs and memory nodes in a request, or the reason why they can't be read. */
export type ReadBrought =
  | { readonly ok: true; readonly brought: Pick<Brought, 'cpus' | 'mems'> | undefined }
  | { readonly ok: false; readonly because: string };

/**
 * Reads the lists of a creation, in the kernel's format. A list of all CPUs that are online bounds nothing, and counts
 * as none.
 */
export function readBrought({ cpus, mems }: CpuResources, online: CpuSet): ReadBrought {
  if (cpus === undefined && mems === undefined) return { ok: true, brought: undefined };
  const readCpus = readList('cpuset.cpus', cpus);
  if (!readCpus.ok) return readCpus;
  const readMems = readList('cpuset.mems', mems);
  if (!readMems.ok) return readMems;
  const bound = readCpus.set && !online.isSubsetOf(readCpus.set) ? readCpus.set : undefined;
  if (!bound && !readMems.set) return { ok: true, brought: undefined };
  return { ok: true, brought: { ...(bound && { cpus: bound }), ...(readMems.set && { mems: readMems.set }) } };
}

/**
 * The CPUs of a container that shares and brought its own: these, less those that others own exclusively. Undefined
 * when none is left.
 */
export function keptOfBrought(
  { topology, exclusive }: { readonly topology: Topology; readonly exclusive: CpuSet },
  cpus: CpuSet,
): CpuSet | undefined {
  const kept = cpus.intersect(topology.online).minus(exclusive);
  return kept.isEmpty ? undefined : kept;
}

/** True when both name the same CPUs and memory nodes. */
export function sameBrought(a: Pick<Brought, 'cpus' | 'mems'>, b: Pick<Brought, 'cpus' | 'mems'>): boolean {
  return (
    (a.cpus ?? CpuSet.empty).equals(b.cpus ?? CpuSet.empty) && (a.mems ?? CpuSet.empty).equals(b.mems ?? CpuSet.empty)
  );
}

/** The key of what a container brought. */
export function broughtKey({ podUid, containerName }: Brought): AssignmentKey {
  return keyOf({ podUid, containerName });
}

type ReadSet =
  { readonly ok: true; readonly set: CpuSet | undefined } | { readonly ok: false; readonly because: string };

const MAX_SHOWN = 64;

function readList(what: string, list: string | undefined): ReadSet {
  if (list === undefined) return { ok: true, set: undefined };
  const set = tryParseCpuList(list);
  if (set) return { ok: true, set: set.isEmpty ? undefined : set };
  const shown = JSON.stringify(list.slice(0, MAX_SHOWN));
  return {
    ok: false,
    because: `the request has ${what} ${shown}, which is no list in the kernel's format, such as 0-3,8`,
  };
}
