import type { Assignment } from '../core/model/assignment';
import type { Brought } from '../core/model/brought';
import type { PodLevel } from '../core/model/pod-level';
import type { PodSpec } from '../core/model/pod-spec';
import { openStateFile, readStateFile, type SaveOutcome, type StateLocation } from './file';
import type { BackupOutcome } from './quarantine';
import type { ReadOutcome } from './read-own-file';
import { decodeState, STATE_VERSION, type State, type StateProblem } from './document';
import { encodeState, fitPods } from './encode';

/** The state at start. */
export type LoadedState =
  | { readonly kind: 'none' }
  | { readonly kind: 'loaded'; readonly state: State }
  /** `keptAs` is null when the old file could not be kept; it is still at its place until the first save. */
  | { readonly kind: 'migrated'; readonly state: State; readonly fromVersion: number; readonly keptAs: string | null }
  /**
   * Not usable: rebuild from the runtime. `movedTo` is null when the file could not be moved; a save will replace it.
   */
  | { readonly kind: 'quarantined'; readonly problem: StateProblem; readonly movedTo: string | null };

export type StoreOutcome =
  { readonly ok: true; readonly leftOut: readonly PodSpec[] } | Extract<SaveOutcome, { readonly ok: false }>;

/** The state directory, open for the daemon. */
export interface StateStore {
  readonly path: string;
  readonly loaded: LoadedState;
  /** True when saves are expected to work. */
  readonly isWritable: boolean;
  /** Faults that do not keep cpusetd from starting, for the log. */
  readonly warnings: readonly string[];
  /**
   * Returns when the state is durable, or with the reason why it is not: then the decision must be refused. A start
   * reads what was saved, except `leftOut`: specs that were too long together (`fitPods`). Assignments are never left
   * out.
   */
  save(state: {
    readonly generation: number;
    readonly assignments: Iterable<Assignment>;
    readonly pods?: Iterable<PodSpec>;
    readonly brought?: Iterable<Brought>;
    readonly podLevel?: Iterable<PodLevel>;
  }): StoreOutcome;
}

export type OpenStoreOutcome =
  | { readonly ok: true; readonly store: StateStore }
  /** The start must be refused; on disk only leftovers of a crashed save were removed. */
  | { readonly ok: false; readonly because: string };

/**
 * Opens the state directory for the one process that writes to it, and reads what is there.
 *
 * @param version of this cpusetd, as in package.json; goes into each document
 */
export function openStateStore({
  version,
  ...location
}: StateLocation & { readonly version: string }): OpenStoreOutcome {
  const opened = openStateFile(location);
  if (!opened.ok) return opened;
  const { file } = opened;
  const warnings = file.notWritable === null ? [] : [file.notWritable];
  const pathOf = (backup: BackupOutcome): string | null => {
    if ('path' in backup) return backup.path;
    warnings.push(backup.because);
    return null;
  };

  const inspected = inspect(file.read());
  let loaded: LoadedState;
  switch (inspected.kind) {
    case 'none':
      loaded = inspected;
      break;
    case 'loaded': {
      const { state, version: fromVersion } = inspected;
      loaded =
        fromVersion === STATE_VERSION
          ? { kind: 'loaded', state }
          : { kind: 'migrated', state, fromVersion, keptAs: pathOf(file.backupAs(`v${fromVersion}`)) };
      break;
    }
    case 'problem': {
      const { problem } = inspected;
      if (problem.kind === 'newer') return { ok: false, because: `${file.path}: ${problem.because}` };
      loaded = { kind: 'quarantined', problem, movedTo: pathOf(file.quarantine()) };
      break;
    }
    case 'failed':
      return { ok: false, because: inspected.because };
  }
  const save: StateStore['save'] = (state) => {
    const { kept, leftOut } = fitPods(state.pods ?? []);
    const outcome = file.save(encodeState({ writtenBy: version, ...state, pods: kept }));
    return outcome.ok ? { ok: true, leftOut } : outcome;
  };
  return { ok: true, store: { path: file.path, loaded, isWritable: file.notWritable === null, warnings, save } };
}

/** The state on disk. */
export type InspectedState =
  | { readonly kind: 'none' }
  /** `version` is that of the file; the state is migrated to the present one. */
  | { readonly kind: 'loaded'; readonly state: State; readonly version: number }
  | { readonly kind: 'problem'; readonly problem: StateProblem }
  | { readonly kind: 'failed'; readonly because: string };

/** Reads the state without changing anything on disk: safe beside a running daemon. Never throws. */
export function inspectState(location: StateLocation): InspectedState {
  return inspect(readStateFile(location));
}

function inspect(read: ReadOutcome): InspectedState {
  switch (read.kind) {
    case 'none':
    case 'failed':
      return read;
    case 'unreadable':
      return { kind: 'problem', problem: read };
    case 'text': {
      const decoded = decodeState(read.text);
      if (!decoded.ok) return { kind: 'problem', problem: decoded.problem };
      return { kind: 'loaded', state: decoded.state, version: decoded.version };
    }
  }
}
