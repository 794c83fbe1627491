export { confineTopology, describeBarred, machineOf, barredCpus } from './confine-topology';
export { describeLocation } from './describe-location';
export { countCaches, describeKinds, kindsOf, nameCache, nameOfCaches } from './describe-units';
export { joinReadings } from './known-machine';
export { buildTopology, restrictTopology } from './topology';
export type { Confinement, CpuBound, Topology } from './topology';
export { toCacheLevel } from './unit';
export type { CacheLevel, CacheUnit, CoreKind, Unit } from './unit';
export { isNear, memoryBytesOf, nodesNear } from './local-memory';
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
