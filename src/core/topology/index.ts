export { buildTopology } from './topology';
export type { CpuInfo, MemoryNode, Topology, TopologyInput, Unit } from './topology';
