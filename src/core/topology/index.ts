export { buildTopology } from './topology';
export type { CpuInfo } from './cpu-info';
export type { MemoryNode, Topology, TopologyInput, Unit } from './topology';
export type { Nesting, TopologyIndex, UnitIndex } from './topology-index';
