import { parseCpuList } from '../../core/cpuset';
import { sortByBytes } from './sort-by-bytes';

/**
 * The structure as the kubelet has it in memory. `null` stands for Go's nil map, which only a JSON `null` leads to and
 * which prints differently from an empty one.
 */
export interface GoCheckpoint {
  readonly policyName: string;
  readonly defaultCpuSet: string;
  readonly entries: GoMap<GoMap<string>>;
  /** v3 only; a pod's list is null when the file gives none. */
  readonly podEntries: GoMap<string | null>;
}

export interface GoCheckpointV1 {
  readonly policyName: string;
  readonly defaultCpuSet: string;
  readonly entries: GoMap<string>;
}

type GoMap<T> = ReadonlyMap<string, T> | null;

/**
 * The text whose hash is the checksum: what go-spew prints with `%#v`, keys sorted, checksum field 0.
 * Strings stand raw, without quotes or escapes. `typeName` is `CPUManagerCheckpoint` in what releases write.
 */
export function printV1({ policyName, defaultCpuSet, entries }: GoCheckpointV1): string {
  const map = printMap(entries, (list) => list);
  return printStruct('CPUManagerCheckpoint', policyName, defaultCpuSet, `(map[string]string)${map}`);
}

/** See `printV1`. */
export function printV2(checkpoint: GoCheckpoint, typeName = 'CPUManagerCheckpoint'): string {
  return printStruct(typeName, checkpoint.policyName, checkpoint.defaultCpuSet, printEntries(checkpoint));
}

/** See `printV1`. Throws CpuListError for a pod-level list that is none: its CPUs are printed one by one. */
export function printV3(checkpoint: GoCheckpoint, typeName = 'CPUManagerCheckpoint'): string {
  const pods = printMap(
    checkpoint.podEntries,
    (list) => `{CPUSet:(cpuset.CPUSet){elems:(map[int]struct {})${printCpus(list)}}}`,
  );
  const entries = `${printEntries(checkpoint)} PodEntries:(state.PodCPUAssignments)${pods}`;
  return printStruct(typeName, checkpoint.policyName, checkpoint.defaultCpuSet, entries);
}

/** Format v4 hashes the text of its `data` as it stands. */
export function printData(data: string): string {
  return `(string)${data}`;
}

function printStruct(typeName: string, policyName: string, defaultCpuSet: string, entries: string): string {
  const names = `PolicyName:(string)${policyName} DefaultCPUSet:(string)${defaultCpuSet}`;
  return `(*state.${typeName}){${names} Entries:${entries} Checksum:(checksum.Checksum)0}`;
}

function printEntries({ entries }: GoCheckpoint): string {
  return `(map[string]map[string]string)${printMap(entries, (pod) => printMap(pod, (list) => list))}`;
}

function printCpus(list: string | null): string {
  if (list === null) return '<nil>';
  return `map[${parseCpuList(list)
    .toArray()
    .map((cpu) => `${cpu}:{}`)
    .join(' ')}]`;
}

function printMap<T>(map: GoMap<T>, printValue: (value: T) => string): string {
  if (map === null) return '<nil>';
  const pairs = sortByBytes(map).map(([key, value]) => `${key}:${printValue(value)}`);
  return `map[${pairs.join(' ')}]`;
}
