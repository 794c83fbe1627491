export { decodeState, encodeState, STATE_VERSION, type DecodedState, type State, type StateProblem } from './model';
export { makeDirectoryDurably } from './durable-write';
export type { RejectedEntry } from './collect-assignments';
export { openStateFile, type OpenFileOutcome, type SaveOutcome, type StateFile } from './file';
export { nodeFsOps, type FsOps } from './fs-ops';
export {
  inspectState,
  openStateStore,
  type FileProblem,
  type InspectedState,
  type LoadedState,
  type OpenStoreOutcome,
  type StateStore,
} from './store';
