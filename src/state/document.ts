import type { Assignment } from '../core/model/assignment';
import type { Brought } from '../core/model/brought';
import type { PodLevel } from '../core/model/pod-level';
import type { PodSpec } from '../core/model/pod-spec';
import { plural } from '../core/text';
import { openEnvelope, WRONG_SEAL } from './envelope';
import {
  collectAssignments,
  readBroughtEntry,
  readPodLevelEntry,
  readPodSpec,
  type RejectedEntry,
} from './read-entries';

/**
 * The version of the document that this code writes. A change of the content takes a new number and a migration, unless
 * older code may ignore it, as it may with `pods`, `brought` and `podLevel`: it then knows less, and keeps the CPUs of
 * every assignment.
 */
export const STATE_VERSION = 2;

/** The state that survives a restart. */
export interface State {
  /** The version of cpusetd that wrote it, e.g. `0.1.0`. */
  readonly writtenBy: string;
  /** Number of saved decisions. */
  readonly generation: number;
  readonly assignments: readonly Assignment[];
  /** Specs from the API server that a restart must keep; mostly none. */
  readonly pods: readonly PodSpec[];
  /** CPUs and memory nodes that creations brought; mostly none. */
  readonly brought: readonly Brought[];
  /** Pods whose containers have shown something of their resources; mostly none. */
  readonly podLevel: readonly PodLevel[];
}

/** The reason why a file can't be used as the state. `because` is for the operator. */
export type StateProblem =
  /** The path holds something that can't be read as a file of ours. */
  | { readonly kind: 'unreadable'; readonly because: string }
  | { readonly kind: 'empty'; readonly because: string }
  /** Cut off or otherwise not JSON. */
  | { readonly kind: 'torn'; readonly because: string }
  /** JSON that cpusetd never wrote. */
  | { readonly kind: 'foreign'; readonly because: string }
  /** Written by cpusetd and changed since: the checksum or the outer shape does not fit. */
  | { readonly kind: 'garbled'; readonly because: string }
  | { readonly kind: 'newer'; readonly version: number; readonly because: string }
  /** Unchanged, but entries contradict each other. `salvaged` has the entries without a contradiction. */
  | {
      readonly kind: 'inconsistent';
      readonly entries: readonly RejectedEntry[];
      readonly salvaged: State;
      readonly because: string;
    };

export type DecodedState =
  | { readonly ok: true; readonly state: State; readonly version: number }
  | { readonly ok: false; readonly problem: StateProblem };

/** `writtenBy` begins with it. */
export const MARKER = 'cpusetd ';

/** Longest document that is read, and therefore written. 500 assignments take about 250 kB. */
export const MAX_STATE_BYTES = 16 * 1024 * 1024;

/** Reads what `encodeState` wrote, for every version up to ours. Never throws, whatever the text. */
export function decodeState(text: string): DecodedState {
  const opened = openEnvelope(text);
  if (!opened.ok) return failed(opened.kind, opened.because);
  const { content } = opened;
  const { version, writtenBy } = content;
  if (typeof writtenBy !== 'string' || !writtenBy.startsWith(MARKER)) {
    return failed('foreign', 'JSON that was not written by cpusetd: no "writtenBy" of ours');
  }
  if (opened.seal !== 'good') return failed('garbled', WRONG_SEAL);
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
  const { generation, assignments: entries, pods = [], brought: bounds = [], podLevel: found = [] } = content;
  if (typeof generation !== 'number' || !Number.isSafeInteger(generation) || generation < 0) {
    return failed('garbled', '"generation" is not a count');
  }
  if (!Array.isArray(entries)) return failed('garbled', '"assignments" is not a list');
  const { assignments, rejected } = collectAssignments(entries);
  const specs = Array.isArray(pods) ? pods.flatMap((entry) => readPodSpec(entry) ?? []) : [];
  const brought = Array.isArray(bounds) ? bounds.flatMap((entry) => readBroughtEntry(entry) ?? []) : [];
  const podLevel = Array.isArray(found) ? found.flatMap((entry) => readPodLevelEntry(entry) ?? []) : [];
  // JSON has -0, which is written again as 0.
  const state: State = { writtenBy, generation: generation + 0, assignments, pods: specs, brought, podLevel };
  if (rejected.length === 0) return { ok: true, state, version };
  const because = `${rejected.length} of ${plural(entries.length, 'assignment')} can't be: ${rejected[0]!.because}`;
  return { ok: false, problem: { kind: 'inconsistent', entries: rejected, salvaged: state, because } };
}

function failed(kind: 'empty' | 'torn' | 'foreign' | 'garbled', because: string): DecodedState {
  return { ok: false, problem: { kind, because } };
}

/** Turns the content of one version into that of the next. Pure; the checksum of its input was verified. */
export type Migration = (content: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;

/** `MIGRATIONS[n - 1]` leads from version n to version n + 1. */
const MIGRATIONS: readonly Migration[] = [
  // Version 2 has more kinds of assignments; those of version 1 mean the same.
  (content) => content,
];

/** Applies the steps from the given version to the present one, in order. */
export function migrate(
  content: Readonly<Record<string, unknown>>,
  version: number,
  migrations: readonly Migration[] = MIGRATIONS,
): Readonly<Record<string, unknown>> {
  return migrations.slice(version - 1).reduce((migrated, step) => step(migrated), content);
}
