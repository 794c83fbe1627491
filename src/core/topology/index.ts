export { confineTopology, describeBarred, machineOf, barredCpus } from './confine-topology';
export { describeLocation } from './describe-location';
export { buildTopology } from './topology';
export type { Confinement, CpuBound, MemoryNode, Topology, Unit } from './topology';
export type { CpuInfo, Nesting, TopologyIndex, UnitIndex } from './topology-index';
export { completeCores, completeSockets, cpusOfNodes, keepWholeCores, listAlignments, threadsPerCore } from './units';
export type { AlignmentBoundary } from './units';
