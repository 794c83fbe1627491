export { buildTopology } from './topology';
export type { CpuInfo, MemoryNode, Topology, TopologyInput, Unit } from './topology';
export type { Nesting, TopologyIndex, UnitIndex } from './topology-index';
