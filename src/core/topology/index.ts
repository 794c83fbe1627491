export { buildTopology } from './topology';
export type { CpuInfo } from './cpu-info';
export type { MemoryNode, Topology, Unit } from './topology';
export type { Nesting, TopologyIndex, UnitIndex } from './topology-index';
