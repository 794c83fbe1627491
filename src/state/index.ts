export { checksumOf, decodeState, MAX_STATE_BYTES, STATE_VERSION, type State } from './document';
export { encodeState, MAX_PODS_BYTES } from './encode';
export { explainFsError, makeDirectoryDurably, replaceDurably, syncDirectory } from './durable-write';
export { openStateFile, type StateFile } from './file';
export { decodeIrqAffinities, encodeIrqAffinities, MAX_IRQ_AFFINITIES_BYTES } from './irq-affinities';
export { makeWithParents, nodeFsOps, type FsOps } from './fs-ops';
export {
  decodePublishedOnNode,
  encodePublishedOnNode,
  MAX_PUBLISHED_RESOURCES_BYTES,
  type PublishedOnNode,
} from './published-resources';
export { readAssignment } from './read-entries';
export { decodeRefusals, encodeRefusals, MAX_REFUSALS_BYTES } from './refusals';
export { inspectState, openStateStore, type InspectedState, type StateStore } from './store';
