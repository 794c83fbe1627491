import { createHash } from 'node:crypto';
import type { Assignment } from '../core/model/assignment';
import type { PodSpec } from '../core/model/pod-spec';
import { oncePer } from '../core/once-per';
import { migrate } from './migrations';
import { collectAssignments, type RejectedEntry } from './collect-assignments';
import { readPodSpec } from './read-pod-spec';
import { plural } from '../core/text';

/**
 * The version of the document that this code writes. A change of what is in it takes a new number and a migration, unless older
 * code may pass it over, as it does with `pods`: it knows less then, and promises nothing else.
 */
export const STATE_VERSION = 2;

/** What a restart remembers. */
export interface State {
  /** The version of cpusetd that wrote it, e.g. `0.1.0`. */
  readonly writtenBy: string;
  /** Goes up by one with each decision that is saved. */
  readonly generation: number;
  readonly assignments: readonly Assignment[];
  /** What the API server told of pods where a restart must not forget it; mostly none. */
  readonly pods: readonly PodSpec[];
}

/** Why a text is not a state that can be used. `because` is written for the operator. */
export type StateProblem =
  | { readonly kind: 'empty'; readonly because: string }
  /** Cut off or otherwise not JSON. */
  | { readonly kind: 'torn'; readonly because: string }
  /** JSON that cpusetd never wrote. */
  | { readonly kind: 'foreign'; readonly because: string }
  /** Ours, and changed since: the checksum does not fit, or the outer shape does not. */
  | { readonly kind: 'garbled'; readonly because: string }
  | { readonly kind: 'newer'; readonly version: number; readonly because: string }
  /** As it was written, but entries contradict each other. `salvaged` holds those which nothing speaks against. */
  | {
      readonly kind: 'inconsistent';
      readonly entries: readonly RejectedEntry[];
      readonly salvaged: State;
      readonly because: string;
    };

export type DecodedState =
  | { readonly ok: true; readonly state: State; readonly version: number }
  | { readonly ok: false; readonly problem: StateProblem };

const MARKER = 'cpusetd ';

/** A document beyond this is not read, and so it is not written either. 500 assignments take about 250 kB. */
export const MAX_STATE_BYTES = 16 * 1024 * 1024;
/** Of which what was told of pods may take so much: it is written with every decision, and without it only knowledge is lost. */
export const MAX_PODS_BYTES = 1024 * 1024;

/** An assignment never changes, a decision replaces one of them: the texts of the others are written again as they are. */
const textOf: (assignment: Assignment) => string = oncePer((assignment: Assignment) => JSON.stringify(assignment));
/** The same of what was told of a pod. */
const entryOf = oncePer((pod: PodSpec) => {
  const text = JSON.stringify(pod);
  return { text, bytes: Buffer.byteLength(text) + ',\n'.length };
});

/** What can be written of what the API server told: where it is too much, the pods of which most was told are left out. */
export function fitPods(pods: Iterable<PodSpec>): {
  readonly kept: readonly PodSpec[];
  readonly leftOut: readonly PodSpec[];
} {
  const all = [...pods];
  const bytesOf = (pod: PodSpec): number => entryOf(pod).bytes;
  let room = MAX_PODS_BYTES;
  const fitting = new Set<PodSpec>();
  for (const pod of [...all].sort((a, b) => bytesOf(a) - bytesOf(b))) {
    room -= bytesOf(pod);
    if (room < 0) break;
    fitting.add(pod);
  }
  return { kept: all.filter((pod) => fitting.has(pod)), leftOut: all.filter((pod) => !fitting.has(pod)) };
}

/** The document as text, one assignment a line. Throws RangeError for a generation that is no count. */
export function encodeState(state: {
  writtenBy: string;
  generation: number;
  assignments: Iterable<Assignment>;
  pods?: Iterable<PodSpec>;
}): string {
  if (!Number.isSafeInteger(state.generation) || state.generation < 0) {
    throw new RangeError(`not a generation: ${state.generation}`);
  }
  const lines: string[] = [];
  for (const assignment of state.assignments) lines.push(textOf(assignment));
  const writtenBy = JSON.stringify(MARKER + state.writtenBy);
  const head = `{"version":${STATE_VERSION},"writtenBy":${writtenBy},"generation":${state.generation},"assignments":[`;
  const pods = Array.from(state.pods ?? [], (pod) => entryOf(pod).text);
  const checksum = checksumOf(`${head}${lines.join(',')}]${pods.length > 0 ? `,"pods":[${pods.join(',')}]` : ''}}`);
  const tail = pods.length > 0 ? `,"pods":[${layOut(pods)}]` : '';
  return `${head}${layOut(lines)}]${tail},"checksum":"${checksum}"}\n`;
}

/** One entry a line. */
function layOut(entries: readonly string[]): string {
  return entries.length === 0 ? '' : `\n${entries.join(',\n')}\n`;
}

/** The reverse of `encodeState`, for every version up to ours. Never throws, whatever the text. */
export function decodeState(text: string): DecodedState {
  if (text.trim() === '') return failed('empty', 'the file is empty');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return failed('torn', `not JSON, cut off or overwritten: ${(error as Error).message}`);
  }
  if (!isRecord(value)) return failed('foreign', 'JSON, but not an object');
  const { checksum, ...content } = value;
  const { version, writtenBy } = content;
  if (typeof writtenBy !== 'string' || !writtenBy.startsWith(MARKER)) {
    return failed('foreign', 'JSON that was not written by cpusetd: no "writtenBy" of ours');
  }
  if (checksum !== checksumOfParsed(content)) {
    return failed('garbled', 'the checksum does not fit the content: the file was changed after it was written');
  }
  if (typeof version !== 'number' || !Number.isSafeInteger(version) || version < 1) {
    return failed('garbled', '"version" is not a version number');
  }
  if (version > STATE_VERSION) {
    const because = `version ${version} was written by ${writtenBy}; this cpusetd reads up to ${STATE_VERSION}: start that one or a newer`;
    return { ok: false, problem: { kind: 'newer', version, because } };
  }
  return readContent(migrate(content, version), version, writtenBy.slice(MARKER.length));
}

function readContent(content: Readonly<Record<string, unknown>>, version: number, writtenBy: string): DecodedState {
  const { generation, assignments: entries, pods = [] } = content;
  if (typeof generation !== 'number' || !Number.isSafeInteger(generation) || generation < 0) {
    return failed('garbled', '"generation" is not a count');
  }
  if (!Array.isArray(entries)) return failed('garbled', '"assignments" is not a list');
  const { assignments, rejected } = collectAssignments(entries);
  const specs = Array.isArray(pods) ? pods.flatMap((entry) => readPodSpec(entry) ?? []) : [];
  // JSON has -0, which is written again as 0.
  const state: State = { writtenBy, generation: generation + 0, assignments, pods: specs };
  if (rejected.length === 0) return { ok: true, state, version };
  const because = `${rejected.length} of ${plural(entries.length, 'assignment')} can't be: ${rejected[0]!.because}`;
  return { ok: false, problem: { kind: 'inconsistent', entries: rejected, salvaged: state, because } };
}

function checksumOf(compactJson: string): string {
  return `sha256:${createHash('sha256').update(compactJson).digest('hex')}`;
}

/** JSON.parse keeps the order of keys, so writing the parsed value again gives the compact text that was hashed. */
function checksumOfParsed(content: Readonly<Record<string, unknown>>): string | undefined {
  try {
    return checksumOf(JSON.stringify(content));
  } catch {
    return undefined; // nested deeper than the stack; we never write that
  }
}

function failed(kind: 'empty' | 'torn' | 'foreign' | 'garbled', because: string): DecodedState {
  return { ok: false, problem: { kind, because } };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
