export { describeLocation } from './describe-location';
export { countCaches, describeKinds, kindsOf } from './describe-units';
export { buildTopology, toCacheLevel } from './topology';
export type { CacheLevel, CacheUnit, CoreKind, Topology, Unit } from './topology';
export { memoryBytesOf } from './local-memory';
export type { LocalMemory, MemoryNode } from './local-memory';
export type { CpuInfo, Nesting, TopologyIndex, UnitIndex } from './topology-index';
export {
  completeCores,
  completeSockets,
  coresBySize,
  cpusOfNodes,
  hasUnlikeCores,
  keepWholeCores,
  knownCaches,
  largestCore,
  listAlignments,
  threadsPerCore,
} from './units';
export type { AlignmentBoundary, CoresOfSize } from './units';
