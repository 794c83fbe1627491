import { parseCpuList } from '../../core/cpuset';

/**
 * The kubelet's structure in memory. `null` stands for Go's nil map, which only a JSON `null` produces and which prints
 * differently from an empty map.
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
 * A printed form in pieces: it can be many times as long as the file, so the pieces are hashed without being joined.
 */
export type Printed = Iterable<string>;

/**
 * The text whose hash is the checksum: the output of go-spew with `%#v`, keys sorted, checksum field 0.
 * Strings are raw, without quotes or escapes. `typeName` is `CPUManagerCheckpoint` in files of releases.
 */
export function* printV1(checkpoint: GoCheckpointV1): Printed {
  yield printHead('CPUManagerCheckpoint', checkpoint);
  yield '(map[string]string)';
  yield* printMap(checkpoint.entries, printText);
  yield TAIL;
}

/** See `printV1`. */
export function* printV2(checkpoint: GoCheckpoint, typeName = 'CPUManagerCheckpoint'): Printed {
  yield printHead(typeName, checkpoint);
  yield* printEntries(checkpoint);
  yield TAIL;
}

/** See `printV1`. Throws CpuListError for a pod-level list that is none: its CPUs are printed one by one. */
export function* printV3(checkpoint: GoCheckpoint, typeName = 'CPUManagerCheckpoint'): Printed {
  yield printHead(typeName, checkpoint);
  yield* printEntries(checkpoint);
  yield ' PodEntries:(state.PodCPUAssignments)';
  yield* printMap(checkpoint.podEntries, printPodSet);
  yield TAIL;
}

/** Format v4 hashes the text of its `data` as it stands. */
export function printData(data: string): Printed {
  return ['(string)', data];
}

const TAIL = ' Checksum:(checksum.Checksum)0}';

function printHead(typeName: string, { policyName, defaultCpuSet }: GoCheckpoint | GoCheckpointV1): string {
  return `(*state.${typeName}){PolicyName:(string)${policyName} DefaultCPUSet:(string)${defaultCpuSet} Entries:`;
}

function* printEntries({ entries }: GoCheckpoint): Printed {
  yield '(map[string]map[string]string)';
  yield* printMap(entries, (pod) => printMap(pod, printText));
}

function printText(text: string): Printed {
  return [text];
}

function* printPodSet(list: string | null): Printed {
  yield '{CPUSet:(cpuset.CPUSet){elems:(map[int]struct {})';
  if (list === null) yield '<nil>';
  else {
    let separator = 'map[';
    for (const cpu of parseCpuList(list)) {
      yield `${separator}${cpu}:{}`;
      separator = ' ';
    }
    yield separator === ' ' ? ']' : 'map[]';
  }
  yield '}}';
}

function* printMap<T>(map: GoMap<T>, printValue: (value: T) => Printed): Printed {
  if (map === null) {
    yield '<nil>';
    return;
  }
  let separator = 'map[';
  for (const [key, value] of sortByBytes(map)) {
    yield `${separator}${key}:`;
    yield* printValue(value);
    separator = ' ';
  }
  yield separator === ' ' ? ']' : 'map[]';
}

/** The map's entries by the UTF-8 bytes of their keys, as Go sorts; UTF-16 order differs beyond the basic plane. */
export function sortByBytes<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map]
    .map(([key, value]) => ({ bytes: Buffer.from(key, 'utf8'), pair: [key, value] as [string, T] }))
    .sort((a, b) => Buffer.compare(a.bytes, b.bytes))
    .map(({ pair }) => pair);
}

const OFFSET_BASIS = 0x811c9dc5;
const PRIME = 0x01000193;
const { imul } = Math;

/**
 * 32-bit FNV-1a over the UTF-8 bytes of the texts, one after the other, as an unsigned number. The texts are not
 * joined.
 */
export function hashFnv1a(texts: Iterable<string>): number {
  let hash = OFFSET_BASIS;
  for (const text of texts) hash = hashText(hash, text);
  return hash >>> 0;
}

function hashText(before: number, text: string): number {
  let hash = before;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit > 0x7f) {
      return hashBytes(hash, Buffer.from(text.slice(i), 'utf8'));
    }
    hash = imul(hash ^ unit, PRIME);
  }
  return hash;
}

function hashBytes(before: number, bytes: Uint8Array): number {
  let hash = before;
  for (let i = 0; i < bytes.length; i++) hash = imul(hash ^ bytes[i]!, PRIME);
  return hash;
}
