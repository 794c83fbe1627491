export { describeLocation } from './describe-location';
export { buildTopology } from './topology';
export { CACHE_LEVELS } from './topology';
export type { CacheLevel, CacheUnit, CoreKind, Topology, Unit } from './topology';
export type { LocalMemory, MemoryNode } from './local-memory';
export type { CpuInfo, Nesting, TopologyIndex, UnitIndex } from './topology-index';
export {
  completeCores,
  completeSockets,
  cpusOfNodes,
  keepWholeCores,
  knownCaches,
  listAlignments,
  threadsPerCore,
} from './units';
export type { AlignmentBoundary } from './units';
