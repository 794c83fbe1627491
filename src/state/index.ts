export { decodeState, encodeState, MAX_PODS_BYTES, MAX_STATE_BYTES, STATE_VERSION, type State } from './model';
export { makeDirectoryDurably, replaceDurably } from './durable-write';
export { openStateFile, type StateFile } from './file';
export { nodeFsOps, type FsOps } from './fs-ops';
export { readBounded, type BoundedRead } from './read-bounded';
export { inspectState, openStateStore, type InspectedState, type StateStore } from './store';
